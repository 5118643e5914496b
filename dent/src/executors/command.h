// SPDX-License-Identifier: MIT
// Any launcher, by templates: `start = "sky exec c1 -- {command}"`. What {command} stands for does the job
// where the launcher runs it and prints the job's records; they are found in the launcher's output.
#pragma once

#include <memory>

#include "executors/executor.h"

namespace dent {

std::unique_ptr<Executor> command_executor(const ExecutorRules& rules, const Project& project);

// A template with each {name} replaced by its value as one word of a shell. Throws Error for a name that is
// not among `values`.
std::string filled_in(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& values);

// A launcher's own word for a state: "Complete", "SETTING_UP".
JobState state_of_word(const std::string& word);

}  // namespace dent
