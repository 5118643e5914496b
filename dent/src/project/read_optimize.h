// SPDX-License-Identifier: MIT
#pragma once

#include "project/project.h"
#include "project/strict_table.h"

namespace dent {

// The tables [tunables], [[variants]], [optimize], [budget] and [rates]. [kernel] and shapes are read
// already.
void read_optimize(StrictTable& root, Project& project);

Kernel read_kernel(StrictTable& table, Kernel kernel);  // keys that are not given stay as they are
std::vector<Shape> read_shapes(StrictTable& table, const char* key);
void read_positive(StrictTable& table, const char* key, double& value);
int read_count(StrictTable& table, const char* key, int otherwise);  // from 1 on
std::optional<Sandbox> read_sandbox(StrictTable& table, const char* key);

}  // namespace dent
