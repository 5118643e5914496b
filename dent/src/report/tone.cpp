// SPDX-License-Identifier: MIT
#include "report/tone.h"

namespace dent {

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
    case Verdict::faster:
    case Verdict::same:
    case Verdict::kept:
      return Tone::good;
    case Verdict::ambiguous:
    case Verdict::busy_machine:
    case Verdict::interrupted:
      return Tone::unsure;
    case Verdict::slower:
    case Verdict::regressed:
    case Verdict::incorrect:
    case Verdict::cheat:
    case Verdict::build_failed:
    case Verdict::environment:
    case Verdict::timeout:
    case Verdict::budget:
    case Verdict::missed:
    case Verdict::dropped:
    case Verdict::refused:
      break;
  }
  return Tone::bad;
}

Tone tone_of(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::pass:
      return Tone::good;
    case StepVerdict::skipped:
      return Tone::unsure;
    case StepVerdict::fail:
      break;
  }
  return Tone::bad;
}

Tone tone_of(SpeedVerdict verdict) {
  switch (verdict) {
    case SpeedVerdict::faster:
    case SpeedVerdict::same:
      return Tone::good;
    case SpeedVerdict::ambiguous:
      return Tone::unsure;
    case SpeedVerdict::slower:
      break;
  }
  return Tone::bad;
}

}  // namespace dent
