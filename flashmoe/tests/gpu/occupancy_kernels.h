// SPDX-License-Identifier: MIT
// Kernels that differ only in what they take of an SM.
#pragma once

#include <vector>

namespace flashmoe::test {

std::vector<const void*> occupancy_kernels();

}  // namespace flashmoe::test
