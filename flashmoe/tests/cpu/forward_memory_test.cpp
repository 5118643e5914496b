// SPDX-License-Identifier: MIT
// What the CPU backend may touch, how much it may ask for, and how far apart tensors may lie.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "support/problem.h"

namespace flashmoe::test::forward_memory_test {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

ForwardArgs without_data(int64_t heads, int64_t q_rows, int64_t kv_rows, int64_t head_dim, DType dtype) {
  ForwardArgs args;
  args.q = args.out = Tensor::dense(nullptr, dtype, {1, heads, q_rows, head_dim});
  args.k = args.v = Tensor::dense(nullptr, dtype, {1, heads, kv_rows, head_dim});
  return args;
}

TEST(ForwardMemory, WorkspaceStaysInTensOfMegabytesAtSixtyFiveThousandRows) {
  for (DType dtype : kDTypes) {
    for (Mask mask : kMasks) {
      for (int64_t head_dim : {64, 128}) {
        for (int64_t heads : {1, 32}) {
          for (int threads : {1, 2, 8}) {
            ForwardArgs args = without_data(heads, 65536, 65536, head_dim, dtype);
            args.mask = mask;
            args.execution.threads = threads;
            EXPECT_LE(forward_workspace_bytes(args), 96 * kMegabyte)
                << name_of(dtype) << " D=" << head_dim << " heads=" << heads << " threads=" << threads;
          }
        }
      }
    }
  }
}

TEST(ForwardMemory, WorkspaceDoesNotGrowWithTheProductOfLengths) {
  for (DType dtype : kDTypes) {
    for (int threads : {1, 8}) {
      ForwardArgs small = without_data(1, 16384, 16384, 128, dtype);
      small.execution.threads = threads;
      ForwardArgs large = without_data(1, 262144, 262144, 128, dtype);
      large.execution.threads = threads;
      // Sixteen times the rows: at most sixteen times the memory, where a score matrix would take 256 times.
      EXPECT_LE(forward_workspace_bytes(large), 16 * forward_workspace_bytes(small) + kMegabyte);
    }
  }
}

TEST(ForwardMemory, AShortProblemTakesAWorkspaceToItsMeasure) {
  for (DType dtype : kDTypes) {
    ForwardArgs args = without_data(1, 32, 32, 64, dtype);
    args.execution.threads = 1;
    const auto tensor = static_cast<std::size_t>(32 * 64) * sizeof(float);
    // q, k, v and out once each in fp32, weights, and tiles filled up; AMX keeps tiles of scores for a whole
    // block of keys.
    EXPECT_LE(forward_workspace_bytes(args), 6 * tensor + (64 << 10) * (dtype == DType::bf16))
        << name_of(dtype);
  }
}

TEST(ForwardMemory, AnAbsurdThreadCountDoesNotAskForAbsurdMemory) {
  ForwardArgs args = without_data(8, 2048, 2048, 128, DType::fp32);
  args.execution.threads = 1'000'000'000;
  EXPECT_LE(forward_workspace_bytes(args), 1024 * kMegabyte);
}

TEST(ForwardMemory, NothingIsWrittenAroundTheWorkspace) {
  constexpr std::size_t kGuard = 4096;
  constexpr std::byte kMark{0xA5};
  for (DType dtype : kDTypes) {
    for (int threads : {1, 2, 3, 8}) {
      for (const Shape& base :
           {Shape{.q_heads = 4, .kv_heads = 2, .q_rows = 131, .kv_rows = 333, .head_dim = 33},
            Shape{.q_heads = 4, .kv_heads = 1, .q_rows = 1, .kv_rows = 2500, .head_dim = 80},
            Shape{.q_rows = 40, .kv_rows = 37, .head_dim = 64},
            Shape{.q_rows = 64, .kv_rows = 5, .head_dim = 101},
            Shape{.q_rows = 1, .kv_rows = 1, .head_dim = 1}}) {
        Shape shape = base;
        shape.dtype = dtype;
        shape.threads = threads;
        Problem problem(shape);
        const std::size_t bytes = forward_workspace_bytes(problem.args);
        std::vector<std::byte> space(kGuard + kWorkspaceAlignment + bytes + kGuard, kMark);
        const Workspace aligned = Workspace::in(space.data() + kGuard, bytes + kWorkspaceAlignment);
        auto* begin = static_cast<std::byte*>(aligned.data);
        attention_forward(problem.args, {begin, bytes});
        EXPECT_AGREES_WITH_ORACLE(problem, shape);
        const auto marked = [&](const std::byte* from, const std::byte* to) {
          return std::all_of(from, to, [&](std::byte b) { return b == kMark; });
        };
        EXPECT_TRUE(marked(space.data(), begin)) << describe(shape);
        EXPECT_TRUE(marked(begin + bytes, space.data() + space.size())) << describe(shape);
      }
    }
  }
}

// Address space without memory behind it: pages appear where they are touched.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {}
  ~SparseMemory() {
    if (ok()) munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Copies `from` to where `sparse` says, for all elements.
void copy_elements(const Tensor& from, const Tensor& to) {
  for (int64_t b = 0; b < to.sizes[0]; ++b)
    for (int64_t h = 0; h < to.sizes[1]; ++h)
      for (int64_t s = 0; s < to.sizes[2]; ++s)
        for (int64_t d = 0; d < to.sizes[3]; ++d)
          Problem::set(to, b, h, s, d, Problem::get(from, b, h, s, d));
}

TEST(ForwardMemory, OffsetsBeyondTwoToTheThirtyOneElements) {
  for (DType dtype : kDTypes) {
    for (int64_t q_rows : {1, 9}) {
      // Batch, head and row strides each pass 2^31 elements by themselves or together.
      constexpr int64_t kRow = (int64_t{1} << 28) + 64, kHead = (int64_t{1} << 31) + (int64_t{1} << 30) + 128;
      constexpr int64_t kBatch = 2 * kHead;
      const Shape shape{.batch = 2,
                        .q_heads = 2,
                        .kv_heads = 2,
                        .q_rows = q_rows,
                        .kv_rows = 10,
                        .head_dim = 24,
                        .dtype = dtype,
                        .mask = Mask::causal};
      Problem dense(shape);
      dense.run();
      const std::size_t bytes = static_cast<std::size_t>(2 * kBatch * element_bytes(dtype));
      SparseMemory q(bytes), k(bytes), v(bytes), out(bytes);
      if (!q.ok() || !k.ok() || !v.ok() || !out.ok())
        GTEST_SKIP() << "no address space for 4 x " << bytes << " bytes";
      const auto far = [&](const Tensor& t, const SparseMemory& memory) {
        return Tensor{memory.data(), dtype, t.sizes, {kBatch, kHead, kRow, 1}};
      };
      Problem sparse(shape);
      const Tensor near_out = sparse.args.out;
      for (auto [tensor, memory] :
           {std::pair{&sparse.args.q, &q}, {&sparse.args.k, &k}, {&sparse.args.v, &v}}) {
        const Tensor moved = far(*tensor, *memory);
        copy_elements(*tensor, moved);
        *tensor = moved;
      }
      sparse.args.out = far(near_out, out);
      sparse.run();
      copy_elements(sparse.args.out, near_out);
      EXPECT_EQ(sparse.output_bytes(), dense.output_bytes()) << describe(shape);
      EXPECT_AGREES_WITH_ORACLE(dense, shape);
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_memory_test
