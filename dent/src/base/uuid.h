// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace dent {

// A random UUID (version 4), such as 0f8fad5b-d9cb-469f-a165-70867728950e.
std::string new_uuid();

}  // namespace dent
