// SPDX-License-Identifier: MIT
// Kinds of cheating that dent detects. dent/docs/dent-honesty.md has one exploit for each.
#pragma once

#include "base/words.h"

namespace dent {

enum class Cheat {
  late_write,
  input_overwritten,
  process_left_behind,
  replayed_output,
  calls_left_undone,
  wrong_when_timed,
  clock_tampered,
  beyond_device,
  unasked_answer,
  reached_out,
  ran_while_stopped,
  raised_priority,
  worker_tampered,
};
inline constexpr Word<Cheat> kCheatWords[] = {
    {Cheat::late_write, "output written after the call had returned"},
    {Cheat::input_overwritten, "input overwritten"},
    {Cheat::process_left_behind, "a process left behind"},
    {Cheat::replayed_output, "output of an earlier call handed out again"},
    {Cheat::calls_left_undone, "timed calls left undone"},
    {Cheat::wrong_when_timed, "wrong in timed calls"},
    {Cheat::clock_tampered, "its clock was tampered with"},
    {Cheat::beyond_device, "faster than the device can be"},
    {Cheat::unasked_answer, "an answer that nobody had asked for"},
    {Cheat::reached_out, "reached for a process that is not its own"},
    {Cheat::ran_while_stopped, "ran while the other side was timed"},
    {Cheat::raised_priority, "raised its own priority"},
    {Cheat::worker_tampered, "its worker was tampered with"}};
constexpr std::span<const Word<Cheat>> words(Cheat) { return kCheatWords; }

}  // namespace dent
