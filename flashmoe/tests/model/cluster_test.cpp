// SPDX-License-Identifier: MIT
// Clusters, mbarriers and stores between blocks: a correct kernel, and variants with one mistake each.
#include <gtest/gtest.h>

#include <vector>

#include "model/on_machine.h"
#include "primitives/barrier.h"
#include "primitives/cluster.h"
#include "primitives/index.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::test::clusters::cluster_test {
namespace {

constexpr int kBlocks = 4;
constexpr int kThreads = 64;

enum class Mistake {
  none,
  no_fence,
  no_cluster_wait,
  wait_without_arrival,
  two_arrivals,
  ends_before_waiting,
  too_few_bytes,
  too_many_bytes,
  no_init,
  init_twice,
  arrives_too_often,
  no_block_barrier,
  no_such_block,
  not_mapped,
  mapped_twice,
  signals_another_block,
  unaligned,
  outside,
  wrong_parity,
  no_wait,
  one_block_ends_early,
  overwrites_what_comes,
};

struct Smem {
  float gathered[kBlocks][4];
  alignas(16) uint64_t all_here;
};

// Every block sends 16 bytes to every block and adds up what it receives: 0 + 1 + 2 + 3.
template <Mistake kMistake>
void exchange(float* out) {
  auto& smem = gpu::shared<Smem>();
  const uint32_t bar = gpu::shared_address(&smem.all_here);
  const uint32_t rank = gpu::cluster_rank();
  const int thread = gpu::thread_index();
  if (thread == 0 && kMistake != Mistake::no_init) {
    gpu::mbarrier_init(bar, 1);
    if (kMistake == Mistake::init_twice) gpu::mbarrier_init(bar, 1);
    if (kMistake != Mistake::no_fence) gpu::fence_mbarrier_init();
    const int bytes = 16 * kBlocks + (kMistake == Mistake::too_few_bytes    ? -16
                                      : kMistake == Mistake::too_many_bytes ? 16
                                                                            : 0);
    gpu::mbarrier_arrive_expect_tx(bar, static_cast<uint32_t>(bytes));
    if (kMistake == Mistake::arrives_too_often) gpu::mbarrier_arrive_expect_tx(bar, 0);
  }
  if (kMistake != Mistake::wait_without_arrival) gpu::cluster_arrive_relaxed();
  if (kMistake == Mistake::two_arrivals) gpu::cluster_arrive_relaxed();
  if (kMistake == Mistake::ends_before_waiting) return;
  if (kMistake != Mistake::no_block_barrier) gpu::sync_block();
  if (kMistake != Mistake::no_cluster_wait) gpu::cluster_wait();

  if (kMistake == Mistake::overwrites_what_comes && thread == 40) smem.gathered[1][0] = 7;
  if (thread < kBlocks) {
    auto peer = static_cast<uint32_t>(thread);
    if (kMistake == Mistake::no_such_block) peer += 1;
    uint32_t to = gpu::shared_address(smem.gathered[rank]);
    if (kMistake == Mistake::unaligned) to += 4;
    if (kMistake == Mistake::outside) to += 4096;
    if (kMistake != Mistake::not_mapped) to = gpu::mapa(to, peer);
    if (kMistake == Mistake::mapped_twice) to = gpu::mapa(to, peer);
    const uint32_t signalled = kMistake == Mistake::signals_another_block ? (peer + 1) % kBlocks : peer;
    const auto mine = static_cast<float>(rank);
    gpu::st_async_16(to, {mine, mine, mine, mine}, gpu::mapa(bar, signalled));
  }
  if (kMistake == Mistake::one_block_ends_early && rank == 2) return;
  if (kMistake != Mistake::no_wait) gpu::mbarrier_wait(bar, kMistake == Mistake::wrong_parity ? 1 : 0);
  float sum = 0;
  for (const auto& from : smem.gathered) sum += from[thread % 4];
  if (kMistake == Mistake::no_cluster_wait) gpu::cluster_wait();
  gpu::store_global(out + gpu::block_index() * kThreads + static_cast<unsigned>(thread), sum);
}

template <Mistake kMistake>
std::string trouble(const model::Settings& settings = {}) {
  std::vector<float> out(2 * kBlocks * kThreads, -1);
  const std::string failure = said(&exchange<kMistake>,
                                   {.kernel = "exchange",
                                    .blocks = 2 * kBlocks,
                                    .threads = kThreads,
                                    .smem_bytes = sizeof(Smem),
                                    .cluster = kBlocks},
                                   settings, out.data());
  if (!failure.empty()) return failure;
  for (float sum : out) {
    if (!(sum == 6)) return "a wrong sum";
  }
  return "";
}

template <Mistake kMistake>
void expect_trouble(const char* part) {
  for (uint64_t seed : {0, 1, 2}) {
    EXPECT_TRUE(contains(trouble<kMistake>({.seed = seed}), part)) << "seed " << seed;
  }
}

TEST(Cluster, BlocksExchangeDataUnderEverySchedule) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (model::CopyTime stores : {model::CopyTime::late, model::CopyTime::early}) {
      EXPECT_EQ(trouble<Mistake::none>({.seed = seed, .stores = stores}), "");
    }
  }
}

TEST(Cluster, ABarriersInitMustReachThePeersFirst) {
  expect_trouble<Mistake::no_fence>("takes fence_mbarrier_init, then the cluster's barrier");
  expect_trouble<Mistake::no_cluster_wait>("");
  for (uint64_t seed : {0, 1, 2}) EXPECT_NE(trouble<Mistake::no_cluster_wait>({.seed = seed}), "");
  expect_trouble<Mistake::no_init>("no initialised mbarrier");
  expect_trouble<Mistake::init_twice>("already initialised");
}

TEST(Cluster, ArrivalsAndWaitsTakeTurns) {
  expect_trouble<Mistake::wait_without_arrival>("has not arrived");
  expect_trouble<Mistake::two_arrivals>("already arrived");
  expect_trouble<Mistake::ends_before_waiting>("ends between its arrival");
}

TEST(Cluster, BytesMustBeThoseThatWereAnnounced) {
  // Reported when the last bytes land, or because a block that saw too few of them has ended by then.
  for (uint64_t seed : {0, 1, 2}) {
    const std::string text = trouble<Mistake::too_few_bytes>({.seed = seed});
    EXPECT_TRUE(contains(text, "more bytes") || contains(text, "has ended")) << text;
  }
  expect_trouble<Mistake::too_many_bytes>("arrivals and 16 bytes");  // which never come
  expect_trouble<Mistake::arrives_too_often>("");
  EXPECT_NE(trouble<Mistake::arrives_too_often>(), "");
}

TEST(Cluster, AddressesAreChecked) {
  expect_trouble<Mistake::no_such_block>("there is no block 4 in a cluster of 4");
  expect_trouble<Mistake::not_mapped>("does not come from mapa");
  expect_trouble<Mistake::mapped_twice>("already that of another block");
  expect_trouble<Mistake::signals_another_block>("different blocks");
  expect_trouble<Mistake::unaligned>("not a multiple of 16");
  expect_trouble<Mistake::outside>("outside of the block's");
}

TEST(Cluster, NoBlockEndsWhileAPeerMayStillWrite) {
  for (uint64_t seed : {0, 1, 2}) {
    const std::string text = trouble<Mistake::one_block_ends_early>({.seed = seed});
    EXPECT_TRUE(contains(text, "has ended") || contains(text, "still expects")) << text;
  }
}

TEST(Cluster, LateStoresAreNotThereBeforeTheWait) {
  EXPECT_NE(trouble<Mistake::no_wait>(), "");
  EXPECT_NE(trouble<Mistake::wrong_parity>(), "");
}

#ifdef FLASHMOE_MODEL_CHECKED
TEST(Cluster, OrderIsCheckedUnderAnySchedule) {
  for (model::CopyTime stores : {model::CopyTime::late, model::CopyTime::early}) {
    // The data has either not landed yet, or landed without being ordered before the read.
    for (const std::string& text : {trouble<Mistake::no_wait>({.stores = stores}),
                                    trouble<Mistake::wrong_parity>({.stores = stores})}) {
      EXPECT_TRUE(contains(text, "no mbarrier_wait between the two") || contains(text, "never written"))
          << text;
    }
    EXPECT_TRUE(contains(trouble<Mistake::no_block_barrier>({.stores = stores}), "race: reads"));
    EXPECT_TRUE(contains(trouble<Mistake::overwrites_what_comes>({.stores = stores}), "race"));
  }
}
#endif

TEST(Cluster, GridsAreWholeClusters) {
  const auto run = [](unsigned blocks, int cluster) {
    return said(
        &exchange<Mistake::none>,
        {.kernel = "exchange", .blocks = blocks, .threads = 64, .smem_bytes = 512, .cluster = cluster}, {},
        nullptr);
  };
  EXPECT_TRUE(contains(run(6, 4), "not a multiple"));
  EXPECT_TRUE(contains(run(16, 16), "1 to 8 blocks"));
}

void where_am_i(int* out) {
  const unsigned block = gpu::block_index() + 4 * (gpu::block_index_y() + 3 * gpu::block_index_z());
  if (gpu::thread_index() == 0) gpu::store_global(out + block, static_cast<int>(gpu::cluster_rank()));
}

TEST(Cluster, RanksGoAlongTheGridsWidth) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<int> out(24, -1);
    EXPECT_EQ(
        said(&where_am_i,
             {.kernel = "where", .blocks = 4, .blocks_y = 3, .blocks_z = 2, .threads = 32, .cluster = 2},
             {.seed = seed}, out.data()),
        "");
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<int>(i % 2)) << i;
  }
}

void transpose(uint32_t* out) {
  const auto lane = static_cast<uint32_t>(gpu::lane_index());
  const uint32_t first = lane / 4 * 8 + lane % 4 * 2;  // elements are numbered row by row
  gpu::store_global(out + lane, gpu::movmatrix_trans(first | (first + 1) << 16));
}

TEST(Movmatrix, Transposes) {
  std::vector<uint32_t> out(32);
  EXPECT_EQ(said(&transpose, {.kernel = "transpose"}, {}, out.data()), "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t first = lane % 4 * 2 * 8 + lane / 4;
    EXPECT_EQ(out[lane], first | (first + 8) << 16) << lane;
  }
}

}  // namespace
}  // namespace flashmoe::test::clusters::cluster_test
