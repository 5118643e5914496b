// SPDX-License-Identifier: MIT
// Memory that a kernel may touch: tensors that a test has allowed, and the block's own shared memory.
#include <cstdio>

#include "primitives/model/machine.h"
#include "primitives/model/settings.h"

namespace flashmoe::model {
namespace {

struct Region {
  std::string name;
  std::uintptr_t begin, end;
  bool writable;
};

std::vector<Region>& regions() {
  static std::vector<Region> allowed;
  return allowed;
}

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void allow_memory(const char* name, const void* data, std::size_t bytes, bool writable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  regions().push_back({name, begin, begin + bytes, writable});
}

void forget_memory() { regions().clear(); }

void check_global(const void* data, std::size_t bytes, bool write, const Where& where) {
  if (!current->may_touch_global) {
    report(
        "touches global memory while the kernel before this one may still run: a programmatic launch needs "
        "griddepcontrol_wait first",
        where);
  }
  if (regions().empty()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const Region* nearest = nullptr;
  for (const Region& region : regions()) {
    if (address >= region.begin && address + bytes <= region.end && (region.writable || !write)) return;
    const auto distance = [address](const Region& r) {
      return address < r.begin ? r.begin - address : address - r.begin;
    };
    if (nearest == nullptr || distance(region) < distance(*nearest)) nearest = &region;
  }
  report((write ? "a store of " : "a load of ") + std::to_string(bytes) +
             " bytes outside of every tensor: offset " +
             std::to_string(static_cast<int64_t>(address - nearest->begin)) + " from the begin of " +
             nearest->name + ", which has " + std::to_string(nearest->end - nearest->begin) + " bytes" +
             (nearest->writable || !write ? "" : " and may not be written"),
         where);
}

std::byte* shared_place(uint32_t address, std::size_t bytes, const char* what, const Where& where) {
  return shared_place_in(*current->block, address, bytes, what, where);
}

std::byte* shared_place_in(const Block& block, uint32_t address, std::size_t bytes, const char* what,
                           const Where& where) {
  if (address % bytes != 0) {
    report(std::string(what) + ": shared address " + hexadecimal(address) + " is not a multiple of " +
               std::to_string(bytes),
           where);
  }
  if (address < kSharedWindow || address - kSharedWindow + bytes > block.smem_bytes) {
    report(std::string(what) + ": shared offset " + std::to_string(int64_t{address} - kSharedWindow) +
               " lies outside of the block's " + std::to_string(block.smem_bytes) + " bytes",
           where);
  }
  return block.smem + (address - kSharedWindow);
}

}  // namespace flashmoe::model
