// SPDX-License-Identifier: MIT
#include "gates/judging/stale.h"

namespace dent {

std::optional<GateResult> stale_build(const GateContext& at) {
  const std::string changed = at.builder().stale(at.kernel());
  if (changed.empty()) return std::nullopt;
  return failed(Cause::build, changed + ": the built library no longer matches the sources",
                "dent run builds it again");
}

}  // namespace dent
