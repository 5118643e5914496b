// SPDX-License-Identifier: MIT
// Everything that a gate may use while it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/stopwatch.h"
#include "gates/gate.h"
#include "gates/sides.h"
#include "ledger/facts.h"
#include "ledger/session_store.h"

namespace dent {

// A gate ends by itself before its time is over; each request to a worker also has a hard limit.
struct TimeBox {
  double seconds = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double waited_before_s = waited_for_turn_s();

  double elapsed_s() const { return seconds_since(start) - (waited_for_turn_s() - waited_before_s); }
  bool over() const { return elapsed_s() > seconds; }
};

// How speed is measured: by the manifest's rules, or those of a loop.
struct MeasureRules {
  PerformanceRules performance;
  int time_boxes = 1;  // more than one if a busy machine gives too few samples; each twice as long
};

struct GateContext {
  std::string step;        // name of the step in records
  Sides& sides;            // candidate, opponent, oracle
  const Problem* problem;  // the shape's problem; null for gates that run once
  const SessionFacts& facts;
  const SessionStore& store;  // records of the project's earlier sessions
  MeasureRules rules;
  std::uint64_t seed;  // drawn for this step; recorded when it ends
  TimeBox box;
  GateOptions options;
  bool held_out;  // no proposer has seen this shape
  const Progress& progress;

  WorkerFactory& workers() const { return sides.workers(); }
  KernelBuilder& builder() const { return sides.workers().builder(); }
  const Project& project() const { return sides.workers().project(); }
  const Kernel& kernel() const { return sides.candidate_kernel(); }
  const std::filesystem::path& artifacts() const { return sides.artifacts(); }
};

}  // namespace dent
