// SPDX-License-Identifier: MIT
// Tasks that others have published, as projects. A suite has a reader in Python, which runs in a cell where
// there can be one: a task is a program. The files of the suite stay where they are.
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

struct ImportRequest {
  std::vector<std::filesystem::path> tasks;
  std::vector<std::filesystem::path> visible{};  // what the reader sees besides them
  DeviceKind device = DeviceKind::cpu;
  double memory_gib = 2;  // that the largest shape may need
  std::string python;
  std::filesystem::path reader;  // dent_<suite>.py
};

// `each` is told as soon as a task is read, in their order. Throws Error (environment) where there is no
// PyTorch.
void read_tasks(const ImportRequest& request, const std::function<void(ImportedTask)>& each);

}  // namespace dent
