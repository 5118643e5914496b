// SPDX-License-Identifier: MIT
// Records that every session writes: its plan, its machine, its steps, and its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/cause.h"
#include "records/device_kind.h"
#include "records/failure.h"
#include "records/fields.h"
#include "records/verdict.h"

namespace dent {

// What a step's time is spent on.
enum class Uses { nothing, compiler, device };
inline constexpr Word<Uses> kUsesWords[] = {
    {Uses::nothing, "nothing"}, {Uses::compiler, "compiler"}, {Uses::device, "device"}};
constexpr std::span<const Word<Uses>> words(Uses) { return kUsesWords; }

}  // namespace dent

namespace dent::record {

struct PlannedStep {
  std::string step;
  double time_box_s = 0;
  std::string stop_rule, threshold;
  bool operator==(const PlannedStep&) const = default;
};

// The first record.
struct Session {
  static constexpr std::string_view kKind = "session";
  std::string dent_version, project, op, candidate, baseline, device_name, manifest, command;
  DeviceKind device = DeviceKind::cpu;
  std::vector<PlannedStep> plan;
  std::vector<std::string> gates, shapes;  // as requested; no shapes: all
  bool operator==(const Session&) const = default;
};

struct Cpu {
  std::string model;
  std::int64_t cores = 0, memory_bytes = 0;
  std::string governor, load_average;
  bool operator==(const Cpu&) const = default;
};
struct Gpu {
  std::string name, driver;
  std::optional<double> memory_mib, max_clock_mhz, power_limit_w;
  bool operator==(const Gpu&) const = default;
};
struct Git {
  std::string commit, branch;
  std::optional<bool> dirty;
  bool operator==(const Git&) const = default;
};

struct Environment {
  static constexpr std::string_view kKind = "environment";
  std::string system, machine, host;
  Cpu cpu;
  std::vector<Gpu> gpus;
  std::optional<Git> git;
  std::vector<std::string> walls;  // protections around untrusted code
  bool operator==(const Environment&) const = default;
};

// Begins a step. A step without a gate record was interrupted and is repeated.
struct Begin {
  static constexpr std::string_view kKind = "begin";
  std::string step;
  bool operator==(const Begin&) const = default;
};

struct Note {
  static constexpr std::string_view kKind = "note";
  std::string text;
  bool operator==(const Note&) const = default;
};

// One check of the machine.
struct Check {
  static constexpr std::string_view kKind = "check";
  std::string step, name, found;
  StepVerdict verdict = StepVerdict::pass;
  std::string fix{};  // what to do, if the check did not pass
  bool operator==(const Check&) const = default;
};

// A number that a gate found, for reports, --json and tools.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit{};
  bool operator==(const Figure&) const = default;
};

struct Cheated {
  static constexpr std::string_view kKind = "cheat";
  Cheat cheat = Cheat::late_write;
  std::string evidence, step, shape;
  bool operator==(const Cheated&) const = default;
};

// Ends a step.
struct Gate {
  static constexpr std::string_view kKind = "gate";
  std::string step;
  StepVerdict verdict = StepVerdict::pass;
  std::optional<Cause> cause{};  // always present for a failure
  std::string reason, next, last_words, seed;
  double elapsed_s = 0, own_s = 0, time_box_s = 0;
  std::optional<FailureKind> failure{};
  std::optional<Uses> uses{};  // not set: the ledger was written by an older dent
  std::vector<Figure> figures{};
  bool operator==(const Gate&) const = default;
};

// The last record.
struct Verdict {
  static constexpr std::string_view kKind = "verdict";
  dent::Verdict verdict = dent::Verdict::pass;
  std::string reason, next;
  int exit_code = 0;
  double elapsed_s = 0, own_s = 0;
  bool operator==(const Verdict&) const = default;
};

void fields(Fields& f, PlannedStep& step);
void fields(Fields& f, Session& session);
void fields(Fields& f, Cpu& cpu);
void fields(Fields& f, Gpu& gpu);
void fields(Fields& f, Git& git);
void fields(Fields& f, Environment& environment);
void fields(Fields& f, Begin& begin);
void fields(Fields& f, Note& note);
void fields(Fields& f, Check& check);
void fields(Fields& f, Figure& figure);
void fields(Fields& f, Cheated& cheated);
void fields(Fields& f, Gate& gate);
void fields(Fields& f, Verdict& verdict);

}  // namespace dent::record
