// SPDX-License-Identifier: MIT
// The cluster's barrier, and the addresses by which its blocks access each other's shared memory.
#include "primitives/model/cluster.h"

#include "primitives/model/reports.h"

namespace flashmoe::model {

void check_cluster_at_end(const Thread& thread) {
  if (thread.cluster_arrivals != thread.cluster_waits) {
    report("a thread ends between its arrival at the cluster's barrier and the wait for it",
           Where::current());
  }
}

Place remote_place(uint32_t address, std::size_t bytes, const char* what, const Where& where) {
  Cluster& cluster = *current->block->cluster;
  const uint32_t rank = (address >> kRankShift) - 1;
  if (address >> kRankShift == 0 || rank >= cluster.blocks.size()) {
    report(std::string(what) + ": the address does not come from mapa", where);
  }
  Block& block = cluster.blocks[rank];
  if (block.ended()) {
    report(std::string(what) + ": block " + std::to_string(rank) +
               " of the cluster, whose shared memory this is, has ended",
           where);
  }
  const uint32_t local = address & ((1U << kRankShift) - 1);
  return {&block, local, shared_place_in(block, local, bytes, what, where)};
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

using model::current;

void cluster_arrive_relaxed(const model::Where& where) {
  model::note("cluster_arrive_relaxed", where);
  model::Cluster& cluster = *current->block->cluster;
  if (current->cluster_arrivals != current->cluster_waits) {
    model::report("cluster_arrive_relaxed: this thread has already arrived and not waited since", where);
  }
  ++current->cluster_arrivals;
  for (auto& [address, barrier] : current->block->mbarriers) {
    if (barrier.fenced_by == current && barrier.published_by == 0)
      barrier.published_by = current->cluster_arrivals;
  }
  if (++cluster.arrived < cluster.threads()) return;
  cluster.arrived = 0;
  ++cluster.meetings;
  for (model::Thread* thread : cluster.waiting) model::wake(*thread);
  cluster.waiting.clear();
}

void cluster_wait(const model::Where& where) {
  model::note("cluster_wait", where);
  model::Cluster& cluster = *current->block->cluster;
  if (current->cluster_arrivals == current->cluster_waits) {
    model::report("cluster_wait: this thread has not arrived", where);
  }
  ++current->cluster_waits;
  if (cluster.meetings >= current->cluster_waits) return;
  cluster.waiting.push_back(current);
  model::wait("cluster_wait", where);
}

uint32_t mapa(uint32_t address, uint32_t rank, const model::Where& where) {
  const std::size_t blocks = current->block->cluster->blocks.size();
  if (rank >= blocks) {
    model::report(
        "mapa: there is no block " + std::to_string(rank) + " in a cluster of " + std::to_string(blocks),
        where);
  }
  if (address >> model::kRankShift != 0)
    model::report("mapa: the address is already that of another block", where);
  return address | (rank + 1) << model::kRankShift;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
