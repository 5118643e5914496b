// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::model {

// The block's mbarrier at this shared address; reports if none was initialised there.
Mbarrier& mbarrier_at(Block& block, uint32_t address, const char* what, const Where& where);

// The running block's own mbarrier to which the copy engine will report landed bytes.
Mbarrier& mbarrier_to_tell(uint32_t address, const char* what, const Where& where);

// Counts bytes that have landed; `from` describes their source in an error. Returns what is wrong, or
// "".
std::string bytes_landed(Mbarrier& barrier, std::size_t bytes, const std::string& from);

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void mbarrier_init(uint32_t barrier, uint32_t arrivals, const model::Where& where = model::Where::current());
void fence_mbarrier_init(const model::Where& where = model::Where::current());
void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes,
                               const model::Where& where = model::Where::current());
void mbarrier_arrive(uint32_t barrier, const model::Where& where = model::Where::current());
void mbarrier_wait(uint32_t barrier, uint32_t parity, const model::Where& where = model::Where::current());
void st_async_16(uint32_t to, const float (&value)[4], uint32_t barrier,
                 const model::Where& where = model::Where::current());
void st_async_8(uint32_t to, const float (&value)[2], uint32_t barrier,
                const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
