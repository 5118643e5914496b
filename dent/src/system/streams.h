// SPDX-License-Identifier: MIT
// A command with stdin, stdout and stderr of its own, each whole. What Process logs is for people; this is
// for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "system/file_descriptor.h"
#include "system/process.h"

namespace dent {

// A file without a name, at its beginning.
FileDescriptor in_memory(std::string_view content = {});
std::string content_of(const FileDescriptor& file);

struct CommandAnswer {
  Ending ending{};
  std::string out{}, err{};
};
// `command.pass` and `command.log` are not used.
CommandAnswer ask(Command command, const FileDescriptor& input, double seconds);
CommandAnswer ask(Command command, double seconds);

// Its stdout line by line, as it comes, without line ends; `out` of the answer is empty. For as long as it
// runs.
CommandAnswer follow(Command command, const std::function<void(std::string_view line)>& take);

}  // namespace dent
