// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape,
            std::type_identity_t<Parameters>... arguments) {
  model::run_grid(shape, [&] { kernel(arguments...); });
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
