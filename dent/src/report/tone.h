// SPDX-License-Identifier: MIT
// How a word is to be read, for whoever has colours. The word itself is always there too.
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
