// SPDX-License-Identifier: MIT
// Sequences of different lengths: packed, padded, empty, and that none of them knows of the others.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "api/check_forward.h"
#include "api/refusal.h"
#include "cpu/forward_sequences.h"
#include "cpu/task_list.h"
#include "problem/sequences.h"
#include "support/sequences.h"

namespace flashmoe::test::lengths_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class LengthsOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, LengthsOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

void expect_right(const Shape& shape) {
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

// Bits of some rows of all heads, and of their LSE.
std::vector<std::byte> bits_of(const Tensor& out, const float* lse, const BatchRows& part) {
  std::vector<std::byte> bits;
  const auto add = [&](const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    bits.insert(bits.end(), begin, begin + bytes);
  };
  for (int64_t h = 0; h < out.sizes[1]; ++h) {
    for (int64_t s = part.rows.begin; s < part.rows.end; ++s) {
      const int64_t at = part.batch * out.strides[0] + h * out.strides[1] + s * out.strides[2];
      add(static_cast<const std::byte*>(out.data) + at * element_bytes(out.dtype),
          static_cast<std::size_t>(out.sizes[3] * element_bytes(out.dtype)));
      add(lse + (part.batch * out.sizes[1] + h) * out.sizes[2] + s, sizeof(float));
    }
  }
  return bits;
}

// What a call for one sequence alone gives.
std::vector<std::byte> bits_alone(const Problem& all, const Sequence& sequence) {
  ForwardArgs args = all.args;
  args.lengths = {};
  args.q = part_of(all.args.q, sequence.q);
  args.k = part_of(all.args.k, sequence.k);
  args.v = part_of(all.args.v, sequence.k);
  std::vector<std::byte> out(static_cast<std::size_t>(args.q.sizes[1] * args.q.sizes[2] * args.q.sizes[3] *
                                                      element_bytes(args.q.dtype)));
  std::vector<float> lse(static_cast<std::size_t>(args.q.sizes[1] * args.q.sizes[2]));
  args.out = Tensor::dense(out.data(), args.q.dtype, args.q.sizes);
  args.lse = lse.data();
  std::vector<std::byte> space(forward_workspace_bytes(args) + kWorkspaceAlignment);
  attention_forward(args, Workspace::in(space.data(), space.size()));
  return bits_of(args.out, args.lse, {0, {0, args.q.sizes[2]}});
}

void expect_as_alone(const Shape& shape) {
  Problem problem(shape);
  problem.run();
  const Sequences sequences(problem.args.lengths, problem.problem);
  for (int64_t i = 0; i < sequences.count(); ++i) {
    if (sequences[i].q.rows.size() == 0) continue;
    EXPECT_EQ(bits_of(problem.args.out, problem.args.lse, sequences[i].q), bits_alone(problem, sequences[i]))
        << "sequence " << i << " of " << describe(shape);
  }
}

TEST_P(LengthsOfType, PackedSequencesAgreeWithTheOracle) {
  for (const Mask mask : kMasks) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded, Layout::reversed}) {
      for (const int threads : {1, 4}) {
        const Shape shape{.q_heads = 4,
                          .kv_heads = 2,
                          .head_dim = 24,
                          .dtype = GetParam(),
                          .mask = mask,
                          .layout = layout,
                          .threads = threads};
        expect_right(packed(shape, {40, 1, 130, 3, 17}, {40, 90, 30, 3, 64}));
        Shape windowed = packed(shape, {90, 5, 33}, {90, 70, 20});
        windowed.window = {13, 2};
        expect_right(windowed);
      }
    }
  }
}

TEST_P(LengthsOfType, PaddedBatchesAgreeWithTheOracle) {
  for (const Mask mask : kMasks) {
    for (const Layout layout : kLayouts) {
      const Shape shape{.q_heads = 2,
                        .kv_heads = 2,
                        .q_rows = 60,
                        .kv_rows = 80,
                        .head_dim = 16,
                        .dtype = GetParam(),
                        .mask = mask,
                        .layout = layout,
                        .threads = 2};
      expect_right(padded(shape, {60, 0, 13, 1}, {80, 80, 0, 5}));
      Shape keys_alone = padded(shape, {60, 60, 60}, {80, 7, 0});
      keys_alone.q_used.clear();
      expect_right(keys_alone);
    }
  }
}

TEST_P(LengthsOfType, PackedQueriesGoWithPaddedKeys) {
  Shape shape{.q_heads = 4,
              .kv_heads = 2,
              .kv_rows = 90,
              .head_dim = 16,
              .dtype = GetParam(),
              .mask = Mask::causal,
              .threads = 2};
  shape = packed(shape, {1, 40, 7}, {0, 0, 0});
  shape.k_starts.clear();
  shape.kv_rows = 90;
  shape.k_used = {33, 90, 12};
  expect_right(shape);
}

TEST_P(LengthsOfType, ASequenceGivesTheBitsOfACallOfItsOwn) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    for (const Window window : {Window{}, Window{100, 3}}) {
      for (const int threads : {1, 2, 3, 16}) {
        for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
          const Shape shape{.q_heads = 4,
                            .kv_heads = 2,
                            .head_dim = 32,
                            .dtype = GetParam(),
                            .mask = mask,
                            .window = window,
                            .layout = layout,
                            .threads = threads};
          expect_as_alone(packed(shape, {300, 1, 0, 77, 5}, {300, 2500, 9, 33, 1100}));
        }
      }
    }
  }
}

TEST_P(LengthsOfType, ZeroLengthsOfQueriesOrKeysGiveZeros) {
  for (const int64_t dim : {1, 16, 40, 64, 96, 128, 256}) {
    for (const int threads : {1, 2}) {
      const Shape shape{
          .q_heads = 2, .kv_heads = 1, .head_dim = dim, .dtype = GetParam(), .threads = threads};
      expect_right(packed(shape, {0, 120, 84, 0}, {10, 130, 84, 7}));
      expect_right(packed(shape, {10, 12, 3, 5}, {0, 12, 0, 0}));
      expect_right(packed(shape, {0, 0}, {0, 0}, 2));
      expect_right(packed(shape, {3, 2}, {0, 0}, 2));
    }
  }
}

TEST_P(LengthsOfType, RowsBeforeBetweenAndBehindSequencesGiveZeros) {
  Shape shape =
      packed({.q_heads = 2, .head_dim = 16, .dtype = GetParam(), .threads = 2}, {30, 9}, {20, 40}, 2);
  for (auto* starts : {&shape.q_starts, &shape.k_starts})
    for (int32_t& start : *starts) ++start;
  shape.q_used = {25, 0};
  shape.k_used = {20, 11};
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  for (const int64_t row : {0, 26, 30, 31, 40}) {
    EXPECT_EQ(problem.out(0, 1, row, 3), 0.0F) << row;
    EXPECT_EQ(problem.lse(0, 1, row), -kInf) << row;
  }
}

TEST_P(LengthsOfType, FewerRowsThanSequencesAndGroupedHeads) {
  for (const Mask mask : kMasks) {
    const Shape shape{
        .q_heads = 9, .kv_heads = 3, .head_dim = 64, .dtype = GetParam(), .mask = mask, .threads = 2};
    expect_right(packed(shape, {0, 1, 0, 1}, {0, 1, 0, 1}));
    expect_right(packed(shape, {0, 1, 0, 1}, {5, 700, 5, 0}));
  }
}

TEST_P(LengthsOfType, WhatNeighboursHoldReachesNobody) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    for (const int64_t rows : {1, 4, 30, 100}) {
      const auto length = static_cast<int32_t>(rows);
      const Shape shape{.q_heads = 2, .head_dim = 32, .dtype = GetParam(), .mask = mask, .threads = 2};
      for (const Shape& laid_out : {packed(shape, {length, 7, length}, {61, 9, 61}), [&] {
                                      Shape p = shape;
                                      p.q_rows = rows + 3;
                                      p.kv_rows = 70;
                                      return padded(p, {length, 3, length}, {61, 70, 61});
                                    }()}) {
        Problem clean(laid_out);
        Problem poisoned(laid_out);
        const Sequences sequences(clean.args.lengths, clean.problem);
        for (const float poison : {kNaN, kInf, -kInf}) {
          const auto spoil = [&](const Tensor& t, int64_t batch, Range all) {
            for (int64_t h = 0; h < t.sizes[1]; ++h)
              for (int64_t s = all.begin; s < all.end; ++s) Problem::set_row(t, batch, h, s, poison);
          };
          const Sequence middle = sequences[1];
          spoil(poisoned.args.q, middle.q.batch, {middle.q.rows.begin, middle.q_end});
          for (const Tensor& t : {poisoned.args.k, poisoned.args.v}) {
            spoil(t, middle.k.batch, {middle.k.rows.begin, middle.k_end});
            for (const int64_t i : {0, 2})
              spoil(t, sequences[i].k.batch, {sequences[i].k.rows.end, sequences[i].k_end});
          }
          clean.run();
          poisoned.run();
          for (const int64_t i : {0, 2}) {
            EXPECT_EQ(bits_of(poisoned.args.out, poisoned.args.lse, sequences[i].q),
                      bits_of(clean.args.out, clean.args.lse, sequences[i].q))
                << poison << " beside sequence " << i << " of " << describe(laid_out);
          }
        }
      }
    }
  }
}

TEST_P(LengthsOfType, HintsChangeNoBit) {
  const Shape shape =
      packed({.q_heads = 2, .head_dim = 64, .dtype = GetParam(), .threads = 2}, {70, 3, 200}, {70, 900, 200});
  Problem expected(shape);
  expected.run();
  for (const int64_t longest : {int64_t{1}, int64_t{900}, int64_t{1} << 30}) {
    Problem problem(shape);
    problem.args.lengths.longest_q = problem.args.lengths.longest_k = longest;
    problem.run();
    EXPECT_EQ(problem.output_bytes(), expected.output_bytes()) << longest;
  }
}

// An array of int32 whose last element ends where no memory is.
class GuardedArray {
 public:
  explicit GuardedArray(const std::vector<int32_t>& values) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = values.size() * sizeof(int32_t);
    pages_ = (bytes + page - 1) / page * page;
    memory_ = mmap(nullptr, pages_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_ = pages_ + page;
    if (memory_ == MAP_FAILED) return;
    mprotect(static_cast<std::byte*>(memory_) + pages_, page, PROT_NONE);
    data_ = reinterpret_cast<int32_t*>(static_cast<std::byte*>(memory_) + pages_ - bytes);
    std::copy(values.begin(), values.end(), data_);
  }
  ~GuardedArray() {
    if (memory_ != MAP_FAILED) munmap(memory_, size_);
  }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;
  const int32_t* data() const { return data_; }

 private:
  void* memory_ = nullptr;
  std::size_t pages_ = 0, size_ = 0;
  int32_t* data_ = nullptr;
};

TEST(Lengths, AnyNumberOfSequencesAndNothingIsReadPastThem) {
  for (const int32_t sequences : {1, 31, 32, 33, 991, 992, 993, 5000}) {
    std::vector<int32_t> lengths;
    for (int32_t i = 0; i < sequences; ++i) lengths.push_back((i * 7 + i / 5) % 4);
    const Shape shape = packed({.head_dim = 8, .mask = Mask::causal, .threads = 2}, lengths, lengths);
    Problem problem(shape);
    const GuardedArray starts(shape.q_starts);
    problem.args.lengths.q_starts = problem.args.lengths.k_starts = starts.data();
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

// Rows that lie so far apart that offsets do not fit in 32 bits. Only the pages that are touched take memory.
TEST(Lengths, OffsetsBeyondTwoToThe31) {
  constexpr int64_t kStride = 1 << 20, kRows = 2600, kDim = 16;
  constexpr std::size_t kBytes = kRows * kStride * sizeof(uint16_t);
  void* memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no " << kBytes << " bytes of address space";
  Shape shape{
      .q_rows = kRows, .kv_rows = kRows, .head_dim = kDim, .dtype = DType::bf16, .mask = Mask::causal};
  shape.q_starts = shape.k_starts = {kRows - 50, kRows - 30, kRows};
  shape.batch = 2;
  Problem near(shape);
  Problem far(shape);
  int64_t placed = 0;
  for (Tensor* t : {&far.args.q, &far.args.k, &far.args.v}) {
    const Tensor from = *t;
    t->data = static_cast<uint16_t*>(memory) + 64 * placed++;
    t->strides = {0, 0, kStride, 1};
    for (int64_t s = kRows - 50; s < kRows; ++s)
      for (int64_t d = 0; d < kDim; ++d) Problem::set(*t, 0, 0, s, d, Problem::get(from, 0, 0, s, d));
  }
  near.run();
  far.run();
  EXPECT_EQ(far.output_bytes(), near.output_bytes());
  munmap(memory, kBytes);
}

TEST(Lengths, AreRefusedByNameWhereTheyCannotBeRight) {
  const Shape shape = packed({.head_dim = 8}, {3, 4}, {5, 6});
  const auto refused = [&](auto spoil, const std::vector<std::string>& says) {
    Problem problem(shape);
    spoil(problem.args.lengths);
    const std::vector<std::byte> untouched = problem.output_bytes();
    expect_says(refusal_of([&] { attention_forward(problem.args, {}); }), ErrorCode::invalid_argument, says,
                says[0]);
    expect_says(refusal_of([&] { (void)forward_workspace_bytes(problem.args); }), ErrorCode::invalid_argument,
                says, says[0]);
    EXPECT_EQ(problem.output_bytes(), untouched);
  };
  const int32_t falling[] = {0, 5, 4}, past[] = {0, 3, 8}, negative[] = {-1, 3, 7};
  const int32_t too_many[] = {3, 7}, below[] = {-1, 2};
  refused([&](Lengths& l) { l.q_starts = falling; }, {"lengths.q_starts[2] is 4, less than 5 before it"});
  refused([&](Lengths& l) { l.q_starts = past; }, {"lengths.q_starts[2] is 8, past the 7 rows of q"});
  refused([&](Lengths& l) { l.k_starts = negative; }, {"lengths.k_starts[0] is -1; it must be 0 or more"});
  refused([&](Lengths& l) { l.k_used = too_many; }, {"lengths.k_used[1] is 7; accepted are 0 to 6"});
  refused([&](Lengths& l) { l.q_used = below; }, {"lengths.q_used[0] is -1; accepted are 0 to 3"});
  refused([&](Lengths& l) { l.q_starts = nullptr; },
          {"q has batch = 1; it must be lengths.sequences, which is 2"});
  refused([&](Lengths& l) { l.sequences = -1; }, {"lengths.sequences is -1"});
  refused([&](Lengths& l) { l.longest_q = -1; }, {"longest_q and longest_k are -1 and 0"});
  Problem batch({.batch = 3, .head_dim = 8});
  batch.args.lengths = {.q_starts = falling, .k_starts = falling, .sequences = 2};
  expect_says(refusal_of([&] { batch.run(); }), ErrorCode::invalid_argument,
              {"q has batch = 3; with lengths.q_starts it must be 1"}, "batch");
}

TEST(Lengths, NoOutputLiesOverThem) {
  Problem problem(packed({.head_dim = 8}, {3, 4}, {5, 6}));
  std::vector<int32_t> starts{0, 3, 7};
  std::vector<float> lse(7);
  std::memcpy(lse.data() + 2, starts.data(), sizeof(int32_t) * 3);
  problem.args.lengths.q_starts = reinterpret_cast<const int32_t*>(lse.data() + 2);
  problem.args.lse = lse.data();
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument,
              {"lse overlaps lengths.q_starts in memory"}, "lse");
}

TEST(Lengths, ExplainSaysHowTheyAreCut) {
  Problem problem(packed({.q_heads = 2, .kv_heads = 2, .head_dim = 64, .threads = 2}, {500, 1, 0, 40},
                         {500, 900, 8, 40}));
  const std::string said = explain_forward(problem.args);
  for (const char* part : {"cpu: 4 sequences, each computed as in a call of its own",
                           "0 to 500 rows, 541 in all; 8 to 900 keys, 1448 in all",
                           "none for 1 sequence without rows or keys", "longest first", "threads: 2"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in\n" << said;
  }
}

TEST(Lengths, ExplainSaysWhereAllAreAlike) {
  Problem problem(padded({.q_rows = 1, .kv_rows = 9, .head_dim = 8}, {1, 1}, {4, 9}));
  const std::string said = explain_forward(problem.args);
  EXPECT_NE(said.find("1 row each; 4 to 9 keys, 13 in all"), std::string::npos) << said;
}

TEST(Lengths, WorkspaceGrowsWithTheLongestSequenceAlone) {
  const auto bytes = [](const std::vector<int32_t>& lengths) {
    return forward_workspace_bytes(
        Problem(packed({.q_heads = 8, .kv_heads = 8, .head_dim = 64, .threads = 2}, lengths, lengths)).args);
  };
  const std::size_t one = bytes({512});
  EXPECT_LT(bytes(std::vector<int32_t>(64, 512)), one + 64 * 1024);
}

TEST(TaskList, HasEveryTaskOnceAndTheLongestFirst) {
  std::vector<cpu::TaskRun> runs;
  Dice dice(7);
  int64_t tasks = 0;
  for (int64_t plan = 0; plan < 40; ++plan) {
    int64_t first = 0;
    for (int64_t i = dice.between(1, 4); i > 0; --i) {
      const int64_t count = dice.between(1, 9);
      runs.push_back({static_cast<double>(dice.between(1, 6)), plan, first, count, 0});
      first += count;
      tasks += count;
    }
  }
  const std::vector<cpu::TaskRun> given = runs;
  const cpu::TaskList list(runs.data(), static_cast<int64_t>(runs.size()));
  ASSERT_EQ(list.tasks(), tasks);
  std::vector<std::pair<int64_t, int64_t>> seen;
  double before = kInf;
  for (int64_t task = 0; task < tasks; ++task) {
    const auto [plan, index] = list[task];
    const auto run = std::find_if(given.begin(), given.end(), [&](const cpu::TaskRun& r) {
      return r.plan == plan && r.first <= index && index < r.first + r.count;
    });
    ASSERT_NE(run, given.end());
    EXPECT_LE(run->us, before);
    before = run->us;
    seen.emplace_back(plan, index);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace flashmoe::test::lengths_test
