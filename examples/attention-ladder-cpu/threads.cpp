// SPDX-License-Identifier: MIT
// Parallelism: vector.cpp on every core. The rows of each head are dealt to THREADS threads, which stay
// between calls; where a thread would get fewer than THREAD_ROWS rows, fewer take part.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "tiles.h"

#ifndef THREADS
#define THREADS 2
#endif
#ifndef THREAD_ROWS
#define THREAD_ROWS 32
#endif

namespace {

// Runs a job on several threads at once: run(n, job) calls job(0) to job(n - 1), the first on the caller's.
class Crew {
 public:
  Crew() {
    for (int i = 1; i < THREADS; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(int count, const std::function<void(int)>& job) {
    if (count > 1) {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      count_ = count;
      left_ = count - 1;
      ++round_;
    }
    if (count > 1) changed_.notify_all();
    job(0);
    if (count <= 1) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void serve(int index) {
    long seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return over_ || round_ != seen; });
      if (over_) return;
      seen = round_;
      if (index >= count_) continue;
      const auto* job = job_;
      lock.unlock();
      (*job)(index);
      lock.lock();
      if (--left_ == 0) changed_.notify_all();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* job_ = nullptr;
  int count_ = 0, left_ = 0;
  long round_ = 0;
  bool over_ = false;
};

}  // namespace

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  if (D != kHeadDim) return 1;
  static Crew crew;
  static tiles::Scratch scratch[THREADS];
  const int all = B * H * S;  // rows of all heads, dealt in equal parts
  const int count = std::max(1, std::min(THREADS, all / THREAD_ROWS));
  crew.run(count, [&](int thread) {
    const long first = static_cast<long>(all) * thread / count,
               end = static_cast<long>(all) * (thread + 1) / count;
    for (long row = first; row < end;) {
      const int head = static_cast<int>(row / S), from = static_cast<int>(row % S);
      const int to = static_cast<int>(std::min<long>(S, end - static_cast<long>(head) * S));
      tiles::attend(head_of(q, k, v, out, S, head), from, to, scratch[thread]);
      row = static_cast<long>(head) * S + to;
    }
  });
  return 0;
}
