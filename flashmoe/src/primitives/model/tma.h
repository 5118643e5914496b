// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/tensor_map.h"

namespace flashmoe::model {

// Every TMA or bulk store joins the thread's open bulk group; begin_tma_store returns that group's index. The
// store calls `read` when it reads shared memory, and later writes global memory.
std::size_t begin_tma_store();
void perform_tma_store(std::size_t group, const std::function<void()>& read,
                       const std::function<void()>& write, const Where& where);
enum class TmaStoreEnd { read, written };
void wait_for_tma_stores(std::size_t pending, TmaStoreEnd end, const Where& where);

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void tma_prefetch_map(const TensorMap&, const model::Where& where = model::Where::current()) {
  model::note("tma_prefetch_map", where);
}

void tma_load_4d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3,
                 const model::Where& where = model::Where::current());
void tma_load_5d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3, int c4,
                 const model::Where& where = model::Where::current());
void tma_store_4d(const TensorMap& map, uint32_t from, int c0, int c1, int c2, int c3,
                  const model::Where& where = model::Where::current());
void tma_store_5d(const TensorMap& map, uint32_t from, int c0, int c1, int c2, int c3, int c4,
                  const model::Where& where = model::Where::current());
void tma_store_commit(const model::Where& where = model::Where::current());

template <int kPending>
void tma_store_wait_read(const model::Where& where = model::Where::current()) {
  model::wait_for_tma_stores(kPending, model::TmaStoreEnd::read, where);
}

template <int kPending>
void tma_store_wait(const model::Where& where = model::Where::current()) {
  model::wait_for_tma_stores(kPending, model::TmaStoreEnd::written, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
