// SPDX-License-Identifier: MIT
// cp.async in its least convenient legal timing. A late copy lands only when its own thread waits for it, and
// its destination holds NaN patterns from the moment of issue. So a kernel that reads too soon, or overwrites
// data that another thread still reads, gets wrong numbers.
#include "primitives/model/cp_async.h"

#include <algorithm>
#include <cstring>

#include "primitives/model/order.h"
#include "primitives/model/settings.h"

namespace flashmoe::model {
namespace {

void land(const Copy& copy) {
  std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
  std::memset(copy.to + copy.bytes, 0, static_cast<std::size_t>(16 - copy.bytes));
}

}  // namespace

void wait_for_copies(uint64_t pending, const Where& where) {
  auto& copies = current->copies;
  note("cp_async_wait", where);
  if (!copies.empty() && copies.back().group == current->copy_groups) {
    report("cp_async_wait: this thread has issued copies that it never committed", where);
  }
  const uint64_t done = current->copy_groups > pending ? current->copy_groups - pending : 0;
  const auto rest =
      std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) { return copy.group >= done; });
  if (settings().copies == CopyTime::late) std::for_each(copies.begin(), rest, land);
  std::for_each(copies.begin(), rest, [&](const Copy& copy) { order_copy_landed(copy.to, where); });
  copies.erase(copies.begin(), rest);
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void cp_async_16(uint32_t to, const void* from, bool there, const model::Where& where) {
  model::note("cp_async_16", where);
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) {
    model::report("cp_async_16: the global address is not a multiple of 16", where);
  }
  if (there) model::check_global(from, 16, false, where);
  const model::Copy copy{model::shared_place(to, 16, "cp_async_16", where),
                         static_cast<const std::byte*>(from), there ? 16 : 0, model::current->copy_groups};
  model::order_copy_issued(copy.to, where);
  if (model::settings().copies == model::CopyTime::early) {
    model::land(copy);
  } else {
    std::memset(copy.to, 0xFF, 16);
  }
  model::current->copies.push_back(copy);
}

void cp_async_commit(const model::Where& where) {
  model::note("cp_async_commit", where);
  ++model::current->copy_groups;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
