// SPDX-License-Identifier: MIT
// What a program answers when it is asked for a change: dent/docs/proposers.md. Strangers write it, so it is
// read with patience: a number where a text belongs is taken as its text, a field of another type is passed
// over, and so is every field that is not here. It can't declare a result.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/fields.h"
#include "records/proposal.h"

namespace dent {

struct Answer {
  Hypothesis hypothesis{};  // its fields lie flat, or in an object "hypothesis"
  std::string pattern{};
  std::string phase{};  // a word of records/phase.h; any other counts as none
  std::optional<std::string> tunable{};
  std::string value{};
  std::optional<std::string> variant{};
  std::vector<std::string> files{};
  std::string patch{};
  double usd = 0, input_tokens = 0, output_tokens = 0;
  bool done = false;
  std::string reason{};    // why it has no more ideas
  std::string nonsense{};  // why it can't be used at all; not a field
};
void fields(Fields& f, Answer& answer);

// The whole text, or else its last line that is a JSON object: agents think aloud. Nothing where there is
// none.
std::optional<Answer> find_answer(std::string_view text);

// What makes no sense is a proposal that is refused, with the reason.
Proposal proposal_of(const Answer& answer);

}  // namespace dent
