// SPDX-License-Identifier: MIT
// attention_forward allocates nothing: every allocation of this process is counted, whichever thread makes
// it. The first call may start threads; it is not counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "support/sequences.h"

static std::atomic<long> allocations{0};

// glibc's second names for its functions; operator new comes here too. Not for sanitized builds, which have a
// malloc of their own.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void* realloc(void* p, size_t bytes) { return ++allocations, __libc_realloc(p, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return ++allocations, __libc_memalign(alignment, bytes);
}
}

namespace flashmoe::test::forward_allocation_test {
namespace {

long allocations_of_second_call(const Shape& shape) {
  Problem problem(shape);
  std::vector<std::byte> space(forward_workspace_bytes(problem.args) + kWorkspaceAlignment);
  const Workspace workspace = Workspace::in(space.data(), space.size());
  attention_forward(problem.args, workspace);
  const long before = allocations;
  attention_forward(problem.args, workspace);
  return allocations - before;
}

TEST(ForwardAllocation, TheCounterCounts) {
  const long before = allocations;
  std::vector<int> some(100);
  EXPECT_GT(allocations, before) << some.size();
}

TEST(ForwardAllocation, ForwardAllocatesNothing) {
  for (DType dtype : kDTypes) {
    for (Mask mask : kMasks) {
      for (int threads : {0, 1, 2, 8}) {
        const Shape tiled{.q_heads = 4,
                          .kv_heads = 2,
                          .q_rows = 150,
                          .kv_rows = 300,
                          .dtype = dtype,
                          .mask = mask,
                          .threads = threads};
        EXPECT_EQ(allocations_of_second_call(tiled), 0) << describe(tiled);
        const Shape decode{.q_heads = 4,
                           .kv_heads = 1,
                           .q_rows = 1,
                           .kv_rows = 3000,
                           .dtype = dtype,
                           .mask = mask,
                           .threads = threads};
        EXPECT_EQ(allocations_of_second_call(decode), 0) << describe(decode);
        const Shape sequences = packed(tiled, {40, 0, 90, 3, 1}, {40, 9, 100, 2000, 0}, 2);
        EXPECT_EQ(allocations_of_second_call(sequences), 0) << describe(sequences);
      }
    }
  }
}

// Rows of q and out side by side in one buffer: the overlap check has to look closely, and still allocates
// nothing.
TEST(ForwardAllocation, InterleavedViewsAllocateNothing) {
  constexpr int64_t kRows = 40, kDim = 16;
  std::vector<float> both(2 * kRows * kDim, 0.5F), k(kRows * kDim, 0.25F);
  ForwardArgs args;
  args.k = args.v = Tensor::dense(k.data(), DType::fp32, {1, 1, kRows, kDim});
  args.q = {both.data(), DType::fp32, args.k.sizes, {0, 0, 2 * kDim, 1}};
  args.out = {both.data() + kDim, DType::fp32, args.k.sizes, {0, 0, 2 * kDim, 1}};
  std::vector<std::byte> space(forward_workspace_bytes(args) + kWorkspaceAlignment);
  const Workspace workspace = Workspace::in(space.data(), space.size());
  attention_forward(args, workspace);
  const long before = allocations;
  attention_forward(args, workspace);
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace flashmoe::test::forward_allocation_test
