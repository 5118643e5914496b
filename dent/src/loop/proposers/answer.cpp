// SPDX-License-Identifier: MIT
#include "loop/proposers/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "records/json.h"

namespace dent {
namespace {

using nlohmann::json;

// Leaves a field as it is where the answer has nothing that fits.
class PatientReader : public Fields {
 public:
  explicit PatientReader(const json& object) { open_.push_back({&object, 0, ""}); }

 private:
  struct Open {
    const json* value;
    std::size_t next;  // item of a list
    std::string name;
  };

  void text(const Field& field, std::string& value) override {
    const json& found = at(field);
    if (found.is_string()) {
      value = found.get<std::string>();
    } else if (field.name.empty()) {
      throw Error(ErrorCode::invalid,
                  fmt::format("{} must be {}; it holds {}", open_.back().name, field.about, found.dump()));
    } else if (found.is_number()) {
      value = found.dump();
    }
  }
  void number(const Field& field, double& value) override {
    if (const json& found = at(field); found.is_number()) value = found.get<double>();
  }
  void any_number(const Field& field, double& value) override { number(field, value); }
  void whole(const Field& field, std::int64_t& value) override {
    if (const json& found = at(field); found.is_number_integer()) value = found.get<std::int64_t>();
  }
  void flag(const Field& field, bool& value) override {
    if (const json& found = at(field); found.is_boolean()) value = found.get<bool>();
  }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t& chosen) override {
    const json& found = at(field);
    const auto known =
        std::find(words.begin(), words.end(), found.is_string() ? found.get<std::string>() : "");
    if (known != words.end()) chosen = static_cast<std::size_t>(known - words.begin());
  }
  void quantity(const Field& field, Reading& reading) override { number(field, reading.value); }

  bool has(const Field& field, bool) override { return field.name.empty() || !at(field).is_null(); }
  std::size_t enter(const Field& field, Structure structure, std::size_t) override {
    static const json kNoObject = json::object(), kNoList = json::array();
    const json& found = at(field);
    const bool list = structure == Structure::list, fits = list ? found.is_array() : found.is_object();
    open_.push_back({fits ? &found : list ? &kNoList : &kNoObject, 0, std::string(field.name)});
    return open_.back().value->size();
  }
  void leave() override { open_.pop_back(); }
  std::string key(std::size_t i) override {
    return std::next(open_.back().value->begin(), static_cast<std::ptrdiff_t>(i)).key();
  }
  bool keeps() const override { return false; }

  const json& at(const Field& field) {
    static const json kNothing;
    Open& top = open_.back();
    if (field.name.empty()) return (*top.value)[top.next++];
    const auto found = top.value->find(std::string(field.name));
    return found == top.value->end() ? kNothing : *found;
  }

  std::vector<Open> open_;
};

Answer read_answer(const json& object) {
  Answer answer;
  PatientReader reader(object);
  try {
    fields(reader, answer);
  } catch (const Error& problem) {
    answer.nonsense = problem.in_one_line();
  }
  return answer;
}

struct InnerHypothesis {
  Hypothesis of{};
};
void flat(Fields& f, Hypothesis& hypothesis) {
  f.may("bottleneck", hypothesis.bottleneck, "what holds the kernel back");
  f.may("change", hypothesis.change, "what is changed");
  f.may("expected", hypothesis.expected, "what that should do");
}
void fields(Fields& f, InnerHypothesis& inner) { flat(f, inner.of); }

}  // namespace

void fields(Fields& f, Answer& answer) {
  flat(f, answer.hypothesis);
  std::optional<InnerHypothesis> inner;
  f("hypothesis", inner, "the three above, in an object of their own");
  if (inner) answer.hypothesis = inner->of;
  f.may("pattern", answer.pattern, "that it follows");
  f.may("phase", answer.phase, "of the loop");
  f("tunable", answer.tunable, "a tunable that is set");
  f.may("value", answer.value, "that it is set to");
  f("variant", answer.variant, "a variant that is taken");
  f.may("files", answer.files, "a list of paths");
  f.may("patch", answer.patch, "a unified diff, in the place of edits in the worktree");
  f.may("usd", answer.usd, "what the proposal took");
  f.may("input_tokens", answer.input_tokens, "what the proposal took");
  f.may("output_tokens", answer.output_tokens, "what the proposal took");
  f.may("done", answer.done, "no more ideas");
  f.may("reason", answer.reason, "why there are none");
}

std::optional<Answer> find_answer(std::string_view text) {
  if (const json whole = parse_json(text); whole.is_object()) return read_answer(whole);
  json last;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find('{') == std::string::npos) continue;
    if (json object = parse_json(line); object.is_object()) last = std::move(object);
  }
  if (!last.is_object()) return std::nullopt;
  return read_answer(last);
}

Proposal proposal_of(const Answer& answer) {
  Proposal proposal;
  proposal.refusal = answer.nonsense;
  proposal.done = answer.done;
  proposal.hypothesis = answer.hypothesis;
  proposal.pattern = answer.pattern;
  proposal.phase = parse_word<Phase>(answer.phase).value_or(Phase::tuning);
  if (answer.tunable) proposal.assignment = Assignment{*answer.tunable, answer.value};
  proposal.variant = answer.variant;
  if (!answer.files.empty() || !answer.patch.empty())
    proposal.source = SourceChange{answer.files, answer.patch};
  const auto amount = [](double said) { return std::isfinite(said) ? std::max(0.0, said) : 0.0; };
  const auto tokens = [&amount](double said) {
    return static_cast<std::int64_t>(std::min(amount(said), 0x1p53));
  };
  proposal.spend = {.seconds = 0,
                    .usd = amount(answer.usd),
                    .input_tokens = tokens(answer.input_tokens),
                    .output_tokens = tokens(answer.output_tokens)};
  return proposal;
}

}  // namespace dent
