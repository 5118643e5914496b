// SPDX-License-Identifier: MIT
// One tile through TMA and wgmma: S = Q K^T, then O = P V with P = S in 16 bits, compared with float64; and
// variants with one mistake each.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "model/on_machine.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/tma.h"
#include "primitives/warp_matrix.h"
#include "primitives/wgmma.h"

namespace flashmoe::test::products::wgmma_test {
namespace {

enum class Mistake {
  none,
  descriptor_swizzle,
  map_swizzle,
  strides_exchanged,
  leading_of_one_slab,
  k_step_too_long,
  not_across_k,
  too_few_bytes,
  too_many_bytes,
  no_full_wait,
  one_warp_waits,
  no_fence,
  no_commit,
  no_product_wait,
  waits_for_too_few,
  sums_touched,
  sums_read_too_soon,
  operand_overwritten,
  keeps_old_sums,
  no_proxy_fence,
  no_sync_before_product,
  operands_differ,
  outside,
  base_offset,
};

template <class T_, int kDim_, int kKeys_, bool kPInShared_ = false, Mistake kMistake_ = Mistake::none>
struct Form {
  using T = T_;
  static constexpr int kDim = kDim_;
  static constexpr int kKeys = kKeys_;
  static constexpr bool kPInShared = kPInShared_;  // if false, in registers
  static constexpr Mistake kMistake = kMistake_;
  static constexpr int kSlab = kDim % 64 == 0 ? 64 : 32;  // in columns
  static constexpr int kSlabs = kDim / kSlab;
  static constexpr gpu::Swizzle kSwizzle = kSlab == 64 ? gpu::Swizzle::bytes_128 : gpu::Swizzle::bytes_64;
};

constexpr int kRows = 64;

template <class F>
struct Smem {
  alignas(1024) unsigned char q[kRows * F::kDim * 2];
  alignas(1024) unsigned char k[F::kKeys * F::kDim * 2];
  alignas(1024) unsigned char v[F::kKeys * F::kDim * 2];
  alignas(1024) unsigned char p[kRows * F::kKeys * 2];  // slabs of 64 keys
  uint64_t full;
};

struct Maps {
  gpu::TensorMap q, k, v;
};

template <class F>
void load(Smem<F>& smem, const Maps& maps) {
  const uint32_t full = gpu::shared_address(&smem.full);
  const int bytes = sizeof smem.q + sizeof smem.k + sizeof smem.v +
                    (F::kMistake == Mistake::too_few_bytes    ? -16
                     : F::kMistake == Mistake::too_many_bytes ? 16
                                                              : 0);
  gpu::mbarrier_arrive_expect_tx(full, static_cast<uint32_t>(bytes));
  for (int slab = 0; slab < F::kSlabs; ++slab) {
    const auto at = [slab](unsigned char* tile, int rows) {
      return gpu::shared_address(tile) + static_cast<uint32_t>(slab * rows * F::kSlab * 2);
    };
    gpu::tma_load_4d(at(smem.q, kRows), maps.q, full, slab * F::kSlab, 0, 0, 0);
    gpu::tma_load_4d(at(smem.k, F::kKeys), maps.k, full, slab * F::kSlab, 0, 0, 0);
    gpu::tma_load_4d(at(smem.v, F::kKeys), maps.v, full, slab * F::kSlab, 0, 0, 0);
  }
}

// Writes P to shared memory in the layout that TMA would produce.
template <class F>
void store_p(Smem<F>& smem, const float (&S)[F::kKeys / 2]) {
  const int lane = gpu::lane_index();
  const int row = gpu::warp_index() * 16 + lane % 16;
  for (int step = 0; step < F::kKeys / 16; ++step) {
    uint32_t fragment[4];
    for (int i = 0; i < 4; ++i)
      fragment[i] = gpu::pack<typename F::T>(S[8 * step + 2 * i], S[8 * step + 2 * i + 1]);
    const int column = 16 * (step % 4) + lane / 16 * 8;
    const uint32_t slab = gpu::shared_address(smem.p) + static_cast<uint32_t>(step / 4 * kRows * 128);
    gpu::stmatrix_x4(slab + static_cast<uint32_t>(row * 128 + ((2 * column) ^ (row % 8 * 16))), fragment);
  }
  if (F::kMistake != Mistake::no_proxy_fence) gpu::fence_proxy_async();
  // Each warp reads only its own rows of A, so a warp barrier is enough.
  if (F::kMistake != Mistake::no_sync_before_product) gpu::sync_warp();
}

template <class F>
uint64_t operand(const unsigned char* tile, int bytes, int leading, Mistake here = F::kMistake) {
  const auto swizzle = here == Mistake::descriptor_swizzle ? gpu::Swizzle::bytes_32 : F::kSwizzle;
  int stride = 8 * F::kSlab * 2;
  if (here == Mistake::strides_exchanged) std::swap(leading, stride);
  uint64_t descriptor =
      gpu::descriptor(gpu::descriptor_low(gpu::shared_address(tile), static_cast<uint32_t>(leading)) +
                          static_cast<uint32_t>(bytes / 16),
                      gpu::descriptor_high(static_cast<uint32_t>(stride), swizzle));
  if (here == Mistake::base_offset) descriptor |= uint64_t{1} << 49;
  return descriptor;
}

template <class F>
void tile(Maps maps, float* scores, float* out) {
  using T = typename F::T;
  constexpr Mistake kMistake = F::kMistake;
  auto& smem = gpu::shared<Smem<F>>();
  const int thread = gpu::thread_index();
  if (thread == 0) {
    gpu::mbarrier_init(gpu::shared_address(&smem.full), 1);
    gpu::fence_mbarrier_init();
    load<F>(smem, maps);
  }
  gpu::sync_block();
  const bool waits =
      kMistake == Mistake::one_warp_waits ? gpu::warp_index() == 0 : kMistake != Mistake::no_full_wait;
  if (waits) gpu::mbarrier_wait(gpu::shared_address(&smem.full), 0);

  constexpr int kStepsPerSlab = F::kSlab / 16;
  float S[F::kKeys / 2] = {};
  if (kMistake != Mistake::no_fence) gpu::wgmma_fence();
  for (int step = 0; step < F::kDim / 16; ++step) {
    const auto at = [step](int rows) {
      const int along = (kMistake == Mistake::k_step_too_long ? 16 : 32) * (step % kStepsPerSlab);
      return step / kStepsPerSlab * rows * F::kSlab * 2 + along;
    };
    const int elsewhere = kMistake == Mistake::operands_differ && thread >= 64 ? 1024
                          : kMistake == Mistake::outside                       ? 240000
                                                                               : 0;
    gpu::wgmma_ss<T, false>(S, operand<F>(smem.q, at(kRows) + elsewhere, 0),
                            operand<F>(smem.k, at(F::kKeys), 0),
                            step > 0 || kMistake == Mistake::keeps_old_sums);
  }
  if (kMistake == Mistake::sums_read_too_soon) gpu::store_global(scores, S[0]);
  if (kMistake == Mistake::sums_touched && thread == 77) S[3] += 1;
  if (kMistake != Mistake::no_commit) gpu::wgmma_commit();
  if (kMistake == Mistake::waits_for_too_few) {
    gpu::wgmma_wait<1>();
  } else if (kMistake != Mistake::no_product_wait) {
    gpu::wgmma_wait<0>();
  }
  const int first = thread / 32 * 16 + gpu::lane_index() / 4;
  const int pair = 2 * (gpu::lane_index() % 4);
  for (int i = 0; i < F::kKeys / 2; ++i) {
    gpu::store_global(scores + (first + i / 2 % 2 * 8) * F::kKeys + i / 4 * 8 + pair + i % 2, S[i]);
  }

  uint32_t P[F::kKeys / 16][4];
  if constexpr (F::kPInShared) {
    store_p<F>(smem, S);
  } else {
    for (int i = 0; i < F::kKeys / 4; ++i) P[i / 4][i % 4] = gpu::pack<T>(S[2 * i], S[2 * i + 1]);
  }
  float O[F::kDim / 2];
  for (float& x : O) x = NAN;  // so that adding to the initial value is noticed
  constexpr int kSlabBytes = F::kKeys * F::kSlab * 2;
  gpu::wgmma_fence();
  for (int step = 0; step < F::kKeys / 16; ++step) {
    const uint64_t v = operand<F>(smem.v, 16 * step * F::kSlab * 2,
                                  kMistake == Mistake::leading_of_one_slab ? 8 * F::kSlab * 2 : kSlabBytes);
    if constexpr (F::kPInShared) {
      const uint64_t p = gpu::descriptor(gpu::descriptor_low(gpu::shared_address(smem.p), 0) +
                                             static_cast<uint32_t>(step / 4 * kRows * 8 + step % 4 * 2),
                                         gpu::descriptor_high(1024, gpu::Swizzle::bytes_128));
      gpu::wgmma_ss<T, true>(O, p, v, step > 0);
    } else if constexpr (kMistake == Mistake::not_across_k) {
      gpu::wgmma_rs<T, false>(O, P[step], v, step > 0);
    } else {
      gpu::wgmma_rs<T, true>(O, P[step], v, step > 0);
    }
  }
  if (kMistake == Mistake::operand_overwritten && thread == 100) P[0][2] ^= 1;
  gpu::wgmma_commit();
  gpu::wgmma_wait<0>();
  for (int i = 0; i < F::kDim / 2; ++i) {
    gpu::store_global(out + (first + i / 2 % 2 * 8) * F::kDim + i / 4 * 8 + pair + i % 2, O[i]);
  }
}

template <class T>
std::vector<T> random_tensor(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& x : values) x = from_float<T>(normal(random));
  return values;
}

template <class F>
gpu::TensorMap map_of(const std::vector<typename F::T>& tensor, int rows, int tile_rows) {
  return gpu::make_tensor_map(
      {.data = tensor.data(),
       .rank = 4,
       .sizes = {F::kDim, rows, 1, 1},
       .stride_bytes = {0, 2 * F::kDim, 2 * F::kDim * rows, 2 * F::kDim * rows},
       .box_dim = {F::kSlab, tile_rows, 1, 1},
       .swizzle = F::kMistake == Mistake::map_swizzle ? gpu::Swizzle::none : F::kSwizzle});
}

// What is wrong, or "". If `rows` or `keys` are fewer than in a tile, the rest must be zeros.
template <class F>
std::string trouble(const model::Settings& settings = {}, int rows = kRows, int keys = F::kKeys) {
  using T = typename F::T;
  const auto q = random_tensor<T>(rows * F::kDim, 1);
  const auto k = random_tensor<T>(keys * F::kDim, 2);
  const auto v = random_tensor<T>(keys * F::kDim, 3);
  std::vector<float> scores(kRows * F::kKeys, NAN);
  std::vector<float> out(kRows * F::kDim, NAN);
  model::allow_memory("q", q.data(), q.size() * 2, false);
  model::allow_memory("k", k.data(), k.size() * 2, false);
  model::allow_memory("v", v.data(), v.size() * 2, false);
  model::allow_memory("scores", scores.data(), scores.size() * 4, true);
  model::allow_memory("out", out.data(), out.size() * 4, true);
  const Maps maps{map_of<F>(q, rows, kRows), map_of<F>(k, keys, F::kKeys), map_of<F>(v, keys, F::kKeys)};
  const std::string failure =
      said(&tile<F>, {.kernel = "tile", .threads = 128, .smem_bytes = sizeof(Smem<F>)}, settings, maps,
           scores.data(), out.data());
  model::forget_memory();
  if (!failure.empty()) return failure;

  const auto at = [](const std::vector<T>& tensor, int row, int column) {
    const auto i = static_cast<std::size_t>(row * F::kDim + column);
    return i < tensor.size() ? static_cast<double>(to_float(tensor[i])) : 0.0;
  };
  for (int row = 0; row < kRows; ++row) {
    std::vector<double> p(F::kKeys);
    for (int key = 0; key < F::kKeys; ++key) {
      double s = 0;
      for (int d = 0; d < F::kDim; ++d) s += at(q, row, d) * at(k, key, d);
      const float got = scores[static_cast<std::size_t>(row * F::kKeys + key)];
      if (!(std::abs(got - s) <= 1e-4))
        return "S[" + std::to_string(row) + "][" + std::to_string(key) + "] is wrong";
      p[static_cast<std::size_t>(key)] = to_float(from_float<T>(got));
    }
    for (int d = 0; d < F::kDim; ++d) {
      double o = 0;
      for (int key = 0; key < F::kKeys; ++key) o += p[static_cast<std::size_t>(key)] * at(v, key, d);
      const float got = out[static_cast<std::size_t>(row * F::kDim + d)];
      if (!(std::abs(got - o) <= 1e-3))
        return "O[" + std::to_string(row) + "][" + std::to_string(d) + "] is wrong";
    }
  }
  return "";
}

constexpr model::CopyTime kTimes[] = {model::CopyTime::late, model::CopyTime::early};

template <class F>
void expect_right(int rows = kRows, int keys = F::kKeys) {
  for (uint64_t seed : {0, 1, 2}) {
    for (model::CopyTime tma : kTimes) {
      for (model::CopyTime wgmma : kTimes) {
        EXPECT_EQ(trouble<F>({.seed = seed, .tma = tma, .wgmma = wgmma}, rows, keys), "");
      }
    }
  }
}

TEST(Wgmma, MultipliesTilesOfEveryHeadDim) {
  expect_right<Form<fp16, 64, 128>>();
  expect_right<Form<bf16, 128, 128>>();
  expect_right<Form<bf16, 32, 64>>();
  expect_right<Form<fp16, 96, 80>>();
  expect_right<Form<fp16, 256, 64>>();
}

TEST(Wgmma, TakesPFromSharedMemory) {
  expect_right<Form<bf16, 64, 128, true>>();
  expect_right<Form<fp16, 128, 64, true>>();
}

TEST(Tma, FillsWhatLiesOutsideWithZeros) {
  expect_right<Form<fp16, 64, 128>>(64, 100);
  expect_right<Form<bf16, 128, 128>>(1, 1);
  expect_right<Form<fp16, 128, 64>>(37, 63);
}

// Under every schedule, and with early and late copies and products.
template <Mistake kMistake, bool kPInShared = false>
void expect_trouble(const std::string& part) {
  using F = Form<fp16, 128, 128, kPInShared, kMistake>;
  for (uint64_t seed : {0, 1}) {
    for (model::CopyTime time : kTimes) {
      const std::string text = trouble<F>({.seed = seed, .tma = time, .wgmma = time});
      EXPECT_TRUE(!text.empty() && contains(text, part)) << "seed " << seed << ": " << text;
    }
  }
}

TEST(Wgmma, WrongLayoutsGiveWrongNumbers) {
  expect_trouble<Mistake::descriptor_swizzle>("");
  expect_trouble<Mistake::map_swizzle>("");
  expect_trouble<Mistake::strides_exchanged>("");
  expect_trouble<Mistake::leading_of_one_slab>("");
  expect_trouble<Mistake::k_step_too_long>("S[0][0] is wrong");
  expect_trouble<Mistake::not_across_k>("");
  expect_trouble<Mistake::outside>("outside of the block's");
  expect_trouble<Mistake::base_offset>("base offset");
}

TEST(Wgmma, AccumulatorsAndOperandsAreHandsOffUntilTheWait) {
  expect_trouble<Mistake::sums_touched>("accumulator register 3 was written while");
  expect_trouble<Mistake::operand_overwritten>("a register operand of the wgmma issued at");
  expect_trouble<Mistake::waits_for_too_few>("");
  expect_trouble<Mistake::no_product_wait>("");
}

TEST(Wgmma, FencesAndCommitsAreNeeded) {
  expect_trouble<Mistake::no_fence>("no wgmma_fence");
  expect_trouble<Mistake::no_commit>("never committed");
}

TEST(Wgmma, AWarpgroupActsAsOne) { expect_trouble<Mistake::operands_differ>("with other operands"); }

TEST(Tma, BytesMustBeThoseThatWereAnnounced) {
  expect_trouble<Mistake::too_few_bytes>("bytes");
  expect_trouble<Mistake::too_many_bytes>("16 bytes");
}

// Combines early products with late tiles: if both are late, tiles land before products read them.
TEST(Tma, LateTilesAreNotThereBeforeTheWait) {
  using F = Form<fp16, 128, 128, false, Mistake::no_full_wait>;
  EXPECT_NE(trouble<F>({.tma = model::CopyTime::late, .wgmma = model::CopyTime::early}), "");
}

#ifdef FLASHMOE_MODEL_CHECKED
TEST(Order, ProductsReadWhatTheirWarpsHaveWaitedFor) {
  expect_trouble<Mistake::no_full_wait>("no mbarrier_wait between the two");
  expect_trouble<Mistake::one_warp_waits>("no mbarrier_wait between the two");
}

TEST(Order, OrdinaryStoresNeedAFenceBeforeProductsReadThem) {
  expect_trouble<Mistake::no_proxy_fence, true>("without a fence_proxy_async");
  expect_trouble<Mistake::no_sync_before_product, true>("no sync_warp between the two");
}
#endif

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  alignas(16) static uint16_t data[1024];
  const auto make = [](auto change) {
    gpu::TensorMapShape shape{.data = data,
                              .rank = 2,
                              .sizes = {64, 16},
                              .stride_bytes = {0, 128},
                              .box_dim = {64, 16},
                              .swizzle = gpu::Swizzle::bytes_128};
    change(shape);
    return gpu::make_tensor_map(shape);
  };
  EXPECT_NO_THROW(make([](auto&) {}));
  EXPECT_ANY_THROW(make([](auto& s) { s.rank = 6; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.data = data + 1; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.stride_bytes[1] = 120; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.box_dim[1] = 257; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.box_dim[0] = 4; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.swizzle = gpu::Swizzle::bytes_64; }));
  EXPECT_ANY_THROW(make([](auto& s) { s.sizes[0] = 0; }));
}

}  // namespace
}  // namespace flashmoe::test::products::wgmma_test
