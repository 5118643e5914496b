// SPDX-License-Identifier: MIT
// Plain CUDA kernels on the host, for tests: a block's threads are contexts of one thread of the system,
// which take turns where the kernel waits for all of them (__syncthreads) or for its warp (shuffles). Blocks
// run one after the other.
//
// Include it before the kernel's file. What is `__shared__` is static: one for all, since blocks take turns.
// For `extern __shared__ float memory[]` define __shared__ as nothing, and `float memory[...]` in front.
#pragma once

#include <ucontext.h>

#include <math.h>

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#define __global__
#define __device__
#define __shared__ static

struct CudaIndex {
  unsigned x = 1, y = 1, z = 1;
};
inline CudaIndex threadIdx, blockIdx, blockDim, gridDim;

namespace cuda_on_host {

constexpr std::size_t kStackBytes = 32 << 10, kMostThreads = 1024;
constexpr unsigned kWarp = 32;

// The threads of one block.
class Block {
 public:
  Block(CudaIndex threads, const std::function<void()>& kernel)
      : threads_(threads.x * threads.y * threads.z), dims_(threads), kernel_(kernel) {
    current_ = this;
    static const auto stacks = std::make_unique_for_overwrite<char[]>(kMostThreads * kStackBytes);
    if (threads_ > kMostThreads) throw std::runtime_error("a block has at most 1024 threads");
    contexts_.resize(threads_);
    over_.assign(threads_, false);
    waits_.assign(threads_, 0);
    values_.resize(threads_);
    for (unsigned i = 0; i < threads_; ++i) {
      getcontext(&contexts_[i]);
      contexts_[i].uc_stack.ss_sp = stacks.get() + i * kStackBytes;
      contexts_[i].uc_stack.ss_size = kStackBytes;
      contexts_[i].uc_link = &scheduler_;
      makecontext(&contexts_[i], &Block::body, 0);
    }
    for (bool any = true; any;) {
      any = false;
      for (running_ = 0; running_ < threads_; ++running_) {
        if (over_[running_]) continue;
        any = true;
        threadIdx = {running_ % dims_.x, running_ / dims_.x % dims_.y, running_ / (dims_.x * dims_.y)};
        swapcontext(&scheduler_, &contexts_[running_]);
      }
    }
  }

  static Block& current() { return *current_; }

  // Until all threads of [first, first + count) that are not over have come here as often as this one.
  void wait(unsigned first, unsigned count) {
    const unsigned self = running_;
    const int mine = ++waits_[self];
    for (bool all = false; !all;) {
      swapcontext(&contexts_[self], &scheduler_);
      all = true;
      for (unsigned i = first; i < first + count && i < threads_; ++i)
        all = all && (over_[i] || waits_[i] >= mine);
    }
  }
  void wait_for_block() { wait(0, threads_); }

  float shuffle(float value, unsigned from) {
    const unsigned warp = running_ / kWarp * kWarp;
    values_[running_] = value;
    wait(warp, kWarp);
    const float found = values_.at(warp + from);
    wait(warp, kWarp);  // before anyone writes the next
    return found;
  }
  unsigned lane() const { return running_ % kWarp; }

 private:
  static void body() {
    Block& block = *current_;
    block.kernel_();
    block.over_[block.running_] = true;
  }

  inline static Block* current_ = nullptr;
  unsigned threads_, running_ = 0;
  CudaIndex dims_;
  const std::function<void()>& kernel_;
  ucontext_t scheduler_{};
  std::vector<ucontext_t> contexts_;
  std::vector<bool> over_;
  std::vector<int> waits_;  // how often each has waited, for whomever
  std::vector<float> values_;
};

// kernel() for every thread of every block.
inline void launch(CudaIndex grid, CudaIndex block, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        Block run(block, kernel);
      }
    }
  }
}

}  // namespace cuda_on_host

inline void __syncthreads() { cuda_on_host::Block::current().wait_for_block(); }
inline float __shfl_xor_sync(unsigned, float value, int step) {
  auto& block = cuda_on_host::Block::current();
  return block.shuffle(value, block.lane() ^ static_cast<unsigned>(step));
}
inline float __shfl_sync(unsigned, float value, int lane, int width = 32) {
  auto& block = cuda_on_host::Block::current();
  const unsigned w = static_cast<unsigned>(width);
  return block.shuffle(value, block.lane() / w * w + static_cast<unsigned>(lane) % w);
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
