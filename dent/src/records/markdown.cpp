// SPDX-License-Identifier: MIT
#include "records/markdown.h"

#include <fmt/format.h>

#include <vector>

#include "records/any_record.h"

namespace dent {
namespace {

// One line for each kind. A kind without one does not compile.
constexpr std::string_view about(const record::Session&) {
  return "The first record: what is measured, and the plan.";
}
constexpr std::string_view about(const record::Environment&) {
  return "The machine, as far as a number depends on it.";
}
constexpr std::string_view about(const record::Note&) { return "Something that people should know."; }
constexpr std::string_view about(const record::Begin&) {
  return "Begins a step. One that has begun and has no `gate` was interrupted, and is repeated.";
}
constexpr std::string_view about(const record::Check&) { return "One question to the machine."; }
constexpr std::string_view about(const record::Build&) { return "What was built."; }
constexpr std::string_view about(const record::Prediction&) {
  return "What the build gate foresees for one shape, where the launch is known.";
}
constexpr std::string_view about(const record::Correctness&) {
  return "What was right and what was not, one shape.";
}
constexpr std::string_view about(const record::Samples&) {
  return "Raw timings of one shape, in the order taken.";
}
constexpr std::string_view about(const record::Comparison&) {
  return "What follows from the samples, one shape.";
}
constexpr std::string_view about(const record::Summary&) { return "The same over all shapes."; }
constexpr std::string_view about(const record::Roofline&) {
  return "What the device can do at most. Points under it are the comparisons' `flops` and `bytes`.";
}
constexpr std::string_view about(const record::Diagnosis&) {
  return "Why the kernel is not faster: what was seen, and the one bottleneck, or why there is no answer.";
}
constexpr std::string_view about(const record::Cheated&) {
  return "A candidate that was caught: dent/docs/dent-honesty.md.";
}
constexpr std::string_view about(const record::Gate&) { return "Ends a step."; }
constexpr std::string_view about(const record::Loop&) { return "Opens an optimisation loop."; }
constexpr std::string_view about(const record::Iteration&) {
  return "A change and why it should help: written before it is tried.";
}
constexpr std::string_view about(const record::Outcome&) { return "What became of an iteration's change."; }
constexpr std::string_view about(const record::PatternTried&) {
  return "What became of a pattern where it was tried.";
}
constexpr std::string_view about(const record::Standing&) {
  return "Speed over the baseline at one point of a loop.";
}
constexpr std::string_view about(const record::BudgetMark&) {
  return "A warning: so much of the budget is spent.";
}
constexpr std::string_view about(const record::LoopEnd&) { return "Ends the iterations of a loop."; }
constexpr std::string_view about(const record::Job&) {
  return "Where the work was done, when that was not here; one each time its state changes.";
}
constexpr std::string_view about(const record::Uptime&) {
  return "A machine that costs money was up, and this session pays for it: dent/docs/executors.md.";
}
constexpr std::string_view about(const record::Verdict&) {
  return "The last record. A session without one was interrupted.";
}

// A row for each field. What has parts is entered once, so that they have rows of their own: `cpu.model`,
// `kernels[].name`.
class Describer : public Fields {
 public:
  std::string take() { return std::move(rows_); }

 private:
  void text(const Field& field, std::string&) override { put(field, "text"); }
  void number(const Field& field, double&) override { put(field, "number"); }
  void any_number(const Field& field, double&) override { put(field, "number, or `nan`, `inf`, `-inf`"); }
  void whole(const Field& field, std::int64_t&) override { put(field, "whole number"); }
  void flag(const Field& field, bool&) override { put(field, "true or false"); }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t&) override {
    put(field, fmt::format("`{}`", fmt::join(words, "`, `")));
  }
  void quantity(const Field& field, Reading&) override { put(field, "number, or `{absent, why}`"); }

  bool has(const Field&, bool) override { return true; }
  std::size_t enter(const Field& field, Structure structure, std::size_t) override {
    const std::string name = called(field);
    if (structure == Structure::object) {
      put(field, "object");
      open_.push_back({.name = name});
      return 1;
    }
    const bool is_list = structure == Structure::list;
    open_.push_back({.name = name + (is_list ? "[]" : ".*"),
                     .row = in_row() ? open_.back().row : name,
                     .type = (in_row() ? open_.back().type : "") + (is_list ? "list: " : "by name: "),
                     .required = field.required});
    return 1;
  }
  void leave() override { open_.pop_back(); }
  std::string key(std::size_t) override { return "*"; }
  bool keeps() const override { return false; }

  // Whether an item of a list or a map is visited: it has no row of its own, the list has.
  bool in_row() const { return !open_.empty() && !open_.back().row.empty(); }
  std::string called(const Field& field) const {
    if (open_.empty()) return std::string(field.name);
    return in_row() ? open_.back().name : open_.back().name + "." + std::string(field.name);
  }
  void put(const Field& field, const std::string& type) {
    const bool item = in_row();
    rows_ += fmt::format("| `{}` | {}{} | {} | {} |\n", item ? open_.back().row : called(field),
                         item ? open_.back().type : "", type,
                         (item ? open_.back().required : field.required) ? "always" : "may", field.about);
  }

  struct Open {
    std::string name;      // before those of its parts
    std::string row{};     // of a list or a map: its own name,
    std::string type{};    // the beginning of its type
    bool required = true;  // and whether it is always there
  };
  std::vector<Open> open_;
  std::string rows_;
};

template <std::size_t I = 0>
void describe(std::string& page) {
  if constexpr (I + 1 < std::variant_size_v<RecordKinds>) {  // the last is Unknown
    std::variant_alternative_t<I, RecordKinds> kind{};
    Describer describer;
    fields(describer, kind);
    page += fmt::format("### {}\n{}\n\n| field | type | there | what |\n| --- | --- | --- | --- |\n{}\n",
                        kind.kKind, about(kind), describer.take());
    describe<I + 1>(page);
  }
}

}  // namespace

std::string kinds_in_markdown() {
  std::string page;
  describe(page);
  return page;
}

}  // namespace dent
