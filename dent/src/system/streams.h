// SPDX-License-Identifier: MIT
// Runs a command with separate stdin, stdout and stderr, each captured completely, for parsing. (Process only
// logs output, for people.)
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "system/file_descriptor.h"
#include "system/process.h"

namespace dent {

// An unnamed file in memory with this content, positioned at its beginning.
FileDescriptor in_memory(std::string_view content = {});
std::string content_of(const FileDescriptor& file);

struct CommandAnswer {
  Ending ending{};
  std::string out{}, err{};
};
// Ignores `command.pass` and `command.log`.
CommandAnswer ask(Command command, const FileDescriptor& input, double seconds);
CommandAnswer ask(Command command, double seconds);

// Passes each line of stdout to `take` as it arrives, without the line end, until the command ends. `out` of
// the answer stays empty.
CommandAnswer follow(Command command, const std::function<void(std::string_view line)>& take);

}  // namespace dent
