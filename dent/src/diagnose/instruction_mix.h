// SPDX-License-Identifier: MIT
// What a compiled library is made of, by its disassembly: for machines that count nothing while it runs.
#pragma once

#include <filesystem>
#include <string_view>

namespace dent {

struct InstructionMix {
  long long vector = 0;  // floating-point arithmetic on several numbers at once
  long long scalar = 0;  // on one
};

// By objdump; nothing counted where there is none.
InstructionMix instruction_mix(const std::filesystem::path& library);

// From `objdump -d --no-show-raw-insn`, x86-64 or AArch64.
InstructionMix count_instructions(std::string_view disassembly);

}  // namespace dent
