// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/tensor_map.h"

namespace flashmoe::model {
void wait_for_box_reads(std::size_t pending, const Where& where);
}

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void tma_prefetch_map(const TensorMap&, const model::Where& where = model::Where::current()) {
  model::note("tma_prefetch_map", where);
}

void tma_load_4d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3,
                 const model::Where& where = model::Where::current());
void tma_load_5d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3, int c4,
                 const model::Where& where = model::Where::current());
void tma_store_5d(const TensorMap& map, uint32_t from, int c0, int c1, int c2, int c3, int c4,
                  const model::Where& where = model::Where::current());
void tma_store_commit(const model::Where& where = model::Where::current());

template <int kPending>
void tma_store_wait_read(const model::Where& where = model::Where::current()) {
  model::wait_for_box_reads(kPending, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
