// SPDX-License-Identifier: MIT
// Whether a word is good or bad news, for coloured output. The word itself is always printed as well.
#pragma once

#include "measure/verdict.h"
#include "records/verdict.h"

namespace dent {

enum class Tone { good, unsure, bad };
inline constexpr Word<Tone> kToneWords[] = {
    {Tone::good, "good"}, {Tone::unsure, "unsure"}, {Tone::bad, "bad"}};
constexpr std::span<const Word<Tone>> words(Tone) { return kToneWords; }

Tone tone_of(Verdict verdict);
Tone tone_of(StepVerdict verdict);
Tone tone_of(SpeedVerdict verdict);

}  // namespace dent
