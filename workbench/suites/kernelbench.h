// SPDX-License-Identifier: MIT
// Tasks of KernelBench as projects. A task is a Python file: class Model, get_inputs, get_init_inputs, and
// sizes that are constants of the module. The files of the suite stay where they are; a project has a copy of
// one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "records/device_kind.h"
#include "records/fields.h"

namespace dent {

struct ImportedShape {
  std::string name;
  std::int64_t bytes = 0;  // of inputs, weights and outputs together
  double needed_gib = 0;   // of memory, to measure it
  bool operator==(const ImportedShape&) const = default;
};

struct ImportedTask {
  std::string task;                            // its file
  std::string refused{};                       // why there is no project; "": there is one
  std::string name{};                          // of the project
  std::vector<ImportedShape> shapes{};         // smallest first
  std::vector<std::string> notes{};            // what differs from the task
  std::map<std::string, std::string> files{};  // by name
  std::string folder{};                        // that they were written to
};
void fields(Fields& f, ImportedShape& shape);
void fields(Fields& f, ImportedTask& task);

struct KernelBenchRequest {
  std::vector<std::filesystem::path> tasks;
  DeviceKind device = DeviceKind::cpu;
  double memory_gib = 2;  // that the largest shape may need
  std::string python;
  std::filesystem::path reader;  // dent_kernelbench.py
};

// The tasks of a folder in the order of their numbers; a file is its own list. Throws Error where there is
// none.
std::vector<std::filesystem::path> kernelbench_tasks(const std::filesystem::path& where);

// Reads them, in a cell where there can be one. `each` is told as soon as one is read. Throws Error
// (environment) where there is no PyTorch.
void read_kernelbench(const KernelBenchRequest& request, const std::function<void(ImportedTask)>& each);

}  // namespace dent
