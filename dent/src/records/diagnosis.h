// SPDX-License-Identifier: MIT
// Why a kernel is not faster: measured quantities, the bottleneck, and patterns that address it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operators/family.h"
#include "records/device_kind.h"
#include "records/fields.h"
#include "records/quantities.h"

namespace dent {

struct Launch {
  std::string kernel;
  double ctas = 0, cta_threads = 0;
  double duration_us = 0;  // 0: not measured
  bool operator==(const Launch&) const = default;
};

// One named bottleneck with its evidence, or a refusal that names the missing evidence.
struct Diagnosis {
  std::string bottleneck{};  // "" if refused
  std::string title{};
  std::string says{};  // the finding with its numbers, one line
  std::string phase{};
  std::string advice{};
  std::vector<std::string> decided{};  // conditions that decided, with their numbers
  std::string runner_up{};             // next best answer; "" if there is none
  std::string runner_up_says{};
  bool runner_up_holds = false;           // whether its conditions hold too, or come closest to holding
  std::vector<std::string> overturned{};  // changes in the numbers that would change the answer
  std::string refusal{};                  // why there is no answer
  std::vector<std::string> missing{};     // quantities that an answer needs

  bool refused() const { return bottleneck.empty(); }
  bool operator==(const Diagnosis&) const = default;
};

void fields(Fields& f, Launch& launch);
void fields(Fields& f, Diagnosis& diagnosis);

}  // namespace dent

namespace dent::record {

// A measured quantity and its target, the value of a healthy kernel.
struct TargetRow {
  std::string quantity, label, unit;
  std::optional<double> value{};
  std::string absent{};  // why there is no value
  std::string target{};
  std::optional<bool> good{};
  bool operator==(const TargetRow&) const = default;
};

struct PatternEvidence {
  int tries = 0, kept = 0, failures = 0;
  std::optional<double> median_gain{};
  bool operator==(const PatternEvidence&) const = default;
};
struct PatternTunable {
  std::vector<std::string> names;
  std::string change;
  bool operator==(const PatternTunable&) const = default;
};
// A pattern that applies to the diagnosis.
struct PatternHint {
  std::string pattern, title, fix, phase, why;
  double expected_gain = 1;
  PatternEvidence evidence{};
  std::string cost{};
  std::optional<PatternTunable> tunable{};
  std::vector<std::string> variants{};
  bool operator==(const PatternHint&) const = default;
};

struct Diagnosis {
  static constexpr std::string_view kKind = "diagnosis";
  std::string shape, op, tool, tree, why, kernel, limiter, report;
  std::optional<Family> family{};   // family of the operator
  std::vector<std::string> dtypes;  // types of the inputs, each once
  DeviceKind device = DeviceKind::cpu;
  int arch = 0;
  bool degraded = false;
  std::vector<Launch> launches;
  Quantities metrics;
  std::vector<TargetRow> targets;
  std::vector<std::string> absent, notes;
  dent::Diagnosis finding;  // written as fields of this record, not as an object of its own
  std::vector<PatternHint> patterns;
  std::optional<double> flops{};
  double bytes = 0, tool_s = 0, elapsed_s = 0;
  bool operator==(const Diagnosis&) const = default;
};

void fields(Fields& f, TargetRow& row);
void fields(Fields& f, PatternEvidence& evidence);
void fields(Fields& f, PatternTunable& tunable);
void fields(Fields& f, PatternHint& hint);
void fields(Fields& f, Diagnosis& diagnosis);

}  // namespace dent::record
