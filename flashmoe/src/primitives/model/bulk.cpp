// SPDX-License-Identifier: MIT
// Contiguous bytes, moved asynchronously like the tiles in tma.cpp.
#include "primitives/model/bulk.h"

#include <cstring>

#include "primitives/model/mbarrier.h"
#include "primitives/model/order.h"
#include "primitives/model/reports.h"
#include "primitives/model/tma.h"

namespace flashmoe::model {
namespace {

constexpr std::size_t kRunPiece = 16;

// Returns where `address` lies in shared memory, after checking alignment and bounds as the copy engine does.
std::byte* check_run(const void* global, uint32_t address, uint32_t bytes, bool writes, const char* what,
                     const Where& where) {
  note(what, where);
  if (bytes == 0 || bytes % kRunPiece != 0 || reinterpret_cast<std::uintptr_t>(global) % kRunPiece != 0) {
    report(std::string(what) + ": the number of bytes and the global address are multiples of 16", where);
  }
  shared_place(address + bytes - kRunPiece, kRunPiece, what, where);
  check_global(global, bytes, writes, where);
  return shared_place(address, kRunPiece, what, where);
}

}  // namespace
}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier, const model::Where& where) {
  constexpr const char* kName = "bulk_load";
  std::byte* place = model::check_run(from, to, bytes, false, kName, where);
  model::Block* block = model::current->block;
  model::Mbarrier& told = model::mbarrier_to_tell(barrier, kName, where);
  model::order_store_issued({block, to, place}, bytes, told, where);
  if (model::settings().tma == model::CopyTime::late) std::memset(place, 0xFF, bytes);
  const auto land = [block, place, from, bytes, &told, where] {
    const std::string says = std::string(kName) + " at " + model::describe(where);
    if (block->ended()) return says + " lands in a block that has ended";
    std::memcpy(place, from, bytes);
    return model::bytes_landed(told, bytes, says);
  };
  model::run_async(model::settings().tma, land, where);
}

void bulk_reduce_add(float* to, uint32_t from, uint32_t bytes, const model::Where& where) {
  constexpr const char* kName = "bulk_reduce_add";
  const std::byte* place = model::check_run(to, from, bytes, true, kName, where);
  const std::size_t group = model::begin_tma_store();
  model::order_async_read(model::Reader::tma_store, place, bytes, group + 1, where);
  auto terms = std::make_shared<std::vector<float>>(bytes / sizeof(float));
  const auto read = [place, bytes, terms] { std::memcpy(terms->data(), place, bytes); };
  const auto write = [to, terms] {
    for (std::size_t i = 0; i < terms->size(); ++i) to[i] += (*terms)[i];
  };
  model::perform_tma_store(group, read, write, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
