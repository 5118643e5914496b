// SPDX-License-Identifier: MIT
#include "diagnose/instruction_mix.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "system/process.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

bool starts(std::string_view text, std::string_view with) { return text.rfind(with, 0) == 0; }

// Whether a mnemonic, without its type suffix, is arithmetic: add, sub, mul, div, fma and similar.
bool is_arithmetic(std::string_view stem) {
  static constexpr std::string_view kStems[] = {"add", "sub", "mul", "div", "max", "min", "sqrt"};
  return std::find(std::begin(kStems), std::end(kStems), stem) != std::end(kStems) || starts(stem, "fmadd") ||
         starts(stem, "fmsub") || starts(stem, "fnmadd") || starts(stem, "fnmsub");
}

// x86: addps and vfmadd231pd work on vectors, addss and vmulsd on scalars.
void count_x86(std::string_view mnemonic, InstructionMix& mix) {
  if (mnemonic.size() < 4) return;
  const std::string_view suffix = mnemonic.substr(mnemonic.size() - 2);
  std::string_view stem = mnemonic.substr(0, mnemonic.size() - 2);
  if (starts(stem, "v")) stem.remove_prefix(1);
  if (!is_arithmetic(stem)) return;
  if (suffix == "ps" || suffix == "pd" || suffix == "ph") ++mix.vector;
  if (suffix == "ss" || suffix == "sd" || suffix == "sh") ++mix.scalar;
}

// AArch64: fmla v0.4s and fmla z0.s work on vectors, fmadd s0 on scalars; matrix instructions such as bfmmla
// count as vector.
void count_arm(std::string_view mnemonic, std::string_view operands, InstructionMix& mix) {
  static constexpr std::string_view kNames[] = {
      "fadd",   "fsub",   "fmul",    "fdiv",    "fmla",   "fmls",   "fmadd", "fmsub",  "fnmadd",
      "fnmsub", "fmax",   "fmin",    "fmaxnm",  "fminnm", "fsqrt",  "fmmla", "bfmmla", "bfdot",
      "fmopa",  "bfmopa", "bfmlalb", "bfmlalt", "fmlal",  "fmlal2", "fmad",  "fmsb",   "fnmla"};
  if (std::find(std::begin(kNames), std::end(kNames), mnemonic) == std::end(kNames) || operands.empty())
    return;
  const bool vector =
      operands[0] == 'v' || operands[0] == 'z' || starts(mnemonic, "fmopa") || starts(mnemonic, "bfmopa");
  ++(vector ? mix.vector : mix.scalar);
}

}  // namespace

InstructionMix count_instructions(std::string_view text) {
  InstructionMix mix;
  const bool arm = text.find("aarch64") != std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto colon = line.find(":\t");
    if (colon == std::string_view::npos) continue;
    line.remove_prefix(colon + 2);
    const auto blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view mnemonic = line.substr(0, blank);
    std::string_view operands = line.substr(blank);
    operands.remove_prefix(std::min(operands.find_first_not_of(" \t"), operands.size()));
    if (arm) {
      count_arm(mnemonic, operands, mix);
    } else {
      count_x86(mnemonic, mix);
    }
  }
  return mix;
}

InstructionMix instruction_mix(const fs::path& library) {
  std::string log = (fs::temp_directory_path() / "dent-objdump-XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return {};
  ::close(file);
  InstructionMix mix;
  try {
    const Finished finished =
        run({.argv = {"objdump", "-d", "--no-show-raw-insn", library.string()}, .log = log}, 10);
    if (finished.ending.clean()) mix = count_instructions(text_of(log));
  } catch (const Error&) {  // no objdump on this machine
  }
  fs::remove(log);
  return mix;
}

}  // namespace dent
