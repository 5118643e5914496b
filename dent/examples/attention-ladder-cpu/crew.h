// SPDX-License-Identifier: MIT
// THREADS threads for tasks of TASK_ROWS query rows each: whoever is free takes the next one, and a thread
// that the system has not woken yet delays nobody.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "problem.h"

#ifndef THREADS
#define THREADS 1
#endif
#ifndef TASK_ROWS
#define TASK_ROWS 16
#endif

// Threads that stay between calls. Each looks for work for a while before it sleeps: calls often follow each
// other.
class Crew {
 public:
  Crew() {
    for (int i = 1; i < THREADS; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Crew() {
    over_ = true;
    call();
    for (std::thread& thread : threads_) thread.join();
  }

  // job(i) on the caller's thread (i = 0) and on those that come before it is done there; returns when all
  // have left.
  void run(const std::function<void(int)>& job) {
    job_ = &job;
    open_ = true;
    call();
    job(0);
    open_ = false;
    for (int look = 0; inside_ > 0; ++look) {
      if (look >= kLooks) std::this_thread::yield();
    }
  }

 private:
  void call() {
    ++round_;
    round_.notify_all();
  }

  void serve(int index) {
    constexpr auto kPatience = std::chrono::microseconds(100);
    for (int seen = 0;; seen = round_) {
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (round_ == seen && std::chrono::steady_clock::now() < end) {
        for (int look = 0; look < kLooks && round_ == seen; ++look) {
        }
      }
      round_.wait(seen);
      if (over_) return;
      ++inside_;  // before the look at open_: run() shuts first and counts then
      if (open_) (*job_)(index);
      --inside_;
    }
  }

  static constexpr int kLooks =
      200;  // before the clock is read or the processor given away: both take longer

  std::vector<std::thread> threads_;
  alignas(64) std::atomic<const std::function<void(int)>*> job_ = nullptr;
  std::atomic<bool> open_ = false, over_ = false;
  alignas(64) std::atomic<int> round_ = 0;  // alone in its cache line: all others look at it all the time
  alignas(64) std::atomic<int> inside_ = 0;
};

// All rows of all heads. Work is what a thread keeps between tasks; begin(head) is called before the first
// rows of a head, attend(head, first, end) for rows [first, end). Calls come one at a time. Returns 0, or 1
// for a D that is not 64.
template <class Work>
int for_all_rows(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  if (D != kHeadDim) return 1;
  static Crew crew;
  static Work works[THREADS];
  const int tasks_of_head = (S + TASK_ROWS - 1) / TASK_ROWS;
  const int tasks = B * H * tasks_of_head;
  std::atomic<int> next = 0;
  const std::function<void(int)> work = [&](int thread) {
    int begun = -1;  // head
    for (int task = next++; task < tasks; task = next++) {
      const int index = task / tasks_of_head, first = task % tasks_of_head * TASK_ROWS;
      const Head head = head_of(q, k, v, out, S, index);
      if (index != begun) works[thread].begin(head);
      begun = index;
      works[thread].attend(head, first, std::min(S, first + TASK_ROWS));
    }
  };
  tasks == 1 || THREADS == 1 ? work(0) : crew.run(work);
  return 0;
}
