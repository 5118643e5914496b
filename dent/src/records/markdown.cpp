// SPDX-License-Identifier: MIT
#include "records/markdown.h"

#include <fmt/format.h>

#include <vector>

#include "records/any_record.h"

namespace dent {
namespace {

// One sentence about each kind; a kind without one fails to compile.
constexpr std::string_view about(const record::Session&) {
  return "The first record: what is measured, and the plan of its steps.";
}
constexpr std::string_view about(const record::Environment&) {
  return "Properties of the machine that timings depend on.";
}
constexpr std::string_view about(const record::Note&) { return "A note for people."; }
constexpr std::string_view about(const record::Begin&) {
  return "Begins a step. A step without a `gate` record was interrupted, and is repeated.";
}
constexpr std::string_view about(const record::Check&) { return "One check of the machine."; }
constexpr std::string_view about(const record::Build&) { return "What was built."; }
constexpr std::string_view about(const record::Prediction&) {
  return "The build gate's prediction for one shape, if its launch is known.";
}
constexpr std::string_view about(const record::Correctness&) {
  return "Result of the correctness check of one shape.";
}
constexpr std::string_view about(const record::Samples&) {
  return "Raw timings of one shape, in the order taken.";
}
constexpr std::string_view about(const record::Comparison&) {
  return "The comparison made from the samples of one shape.";
}
constexpr std::string_view about(const record::Summary&) { return "The result over all shapes."; }
constexpr std::string_view about(const record::Roofline&) {
  return "The device's peaks. Comparisons, with their `flops` and `bytes`, are the points below it.";
}
constexpr std::string_view about(const record::Diagnosis&) {
  return "Why the kernel is not faster: measured quantities and the bottleneck, or why there is no answer.";
}
constexpr std::string_view about(const record::Cheated&) {
  return "A candidate that cheated: dent/docs/dent-honesty.md.";
}
constexpr std::string_view about(const record::Gate&) { return "Ends a step."; }
constexpr std::string_view about(const record::Loop&) { return "Opens an optimisation loop."; }
constexpr std::string_view about(const record::Iteration&) {
  return "A change and its hypothesis, written before it is tried.";
}
constexpr std::string_view about(const record::Outcome&) { return "The result of an iteration's change."; }
constexpr std::string_view about(const record::PatternTried&) { return "The result of trying a pattern."; }
constexpr std::string_view about(const record::Standing&) {
  return "Speed over the baseline, measured at one point of a loop.";
}
constexpr std::string_view about(const record::BudgetMark&) {
  return "A warning that part of the budget is spent.";
}
constexpr std::string_view about(const record::LoopEnd&) { return "Ends the iterations of a loop."; }
constexpr std::string_view about(const record::Job&) {
  return "A session's work on another machine: one record for each state of the job.";
}
constexpr std::string_view about(const record::Uptime&) {
  return "Time for which this session pays for a rented machine: dent/docs/executors.md.";
}
constexpr std::string_view about(const record::Verdict&) {
  return "The last record. A session without one was interrupted.";
}

// Writes a table row for each field. Objects and lists are entered once, so that their parts have rows of
// their own: `cpu.model`, `kernels[].name`.
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

  // Whether an item of a list or map is being visited: only the list has a row, not its items.
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
    std::string name;      // prefix of the names of its parts
    std::string row{};     // for a list or map: its own name,
    std::string type{};    // the beginning of its type,
    bool required = true;  // and whether it is always present
  };
  std::vector<Open> open_;
  std::string rows_;
};

template <std::size_t I = 0>
void describe(std::string& page) {
  if constexpr (I + 1 < std::variant_size_v<RecordKinds>) {  // the last kind is Unknown, which has no section
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
