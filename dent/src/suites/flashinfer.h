// SPDX-License-Identifier: MIT
// Definitions in FlashInfer-Bench's format, which SOL-ExecBench shares: an operator by its axes, inputs,
// outputs and a reference in PyTorch, as JSON. Workloads and solutions lie beside them, or in folders of the
// same trace set.
#pragma once

#include <filesystem>
#include <vector>

namespace dent {

// A file is its own list; of a trace set its definitions, of another folder every definition.json, or else
// every JSON file in it. Throws Error where there is none.
std::vector<std::filesystem::path> flashinfer_tasks(const std::filesystem::path& where);

// The trace set that a definition belongs to: workloads, solutions and tensors are looked for there.
std::filesystem::path trace_set_of(const std::filesystem::path& definition);

}  // namespace dent
