// SPDX-License-Identifier: MIT
// Counts instructions in the disassembly of a library, for machines without hardware counters.
#pragma once

#include <filesystem>
#include <string_view>

namespace dent {

struct InstructionMix {
  long long vector = 0;  // floating-point instructions on several numbers
  long long scalar = 0;  // floating-point instructions on one number
};

// Uses objdump; all zero if there is none.
InstructionMix instruction_mix(const std::filesystem::path& library);

// Reads the output of `objdump -d --no-show-raw-insn` for x86-64 or AArch64.
InstructionMix count_instructions(std::string_view disassembly);

}  // namespace dent
