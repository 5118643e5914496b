// SPDX-License-Identifier: MIT
// What a gate may see while it runs.
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

// A gate ends by itself before its time is over; each request to a worker has its hard limit besides.
struct TimeBox {
  double seconds = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double waited_before_s = waited_for_turn_s();

  double elapsed_s() const { return seconds_since(start) - (waited_for_turn_s() - waited_before_s); }
  bool over() const { return elapsed_s() > seconds; }
};

// How speed is measured: the manifest's rules, unless a loop says otherwise.
struct MeasureRules {
  PerformanceRules performance;
  int time_boxes = 1;  // each twice as long as the one before, while a busy machine gives too few samples
};

struct GateContext {
  std::string step;        // as the records call it
  Sides& sides;            // candidate, opponent, oracle
  const Problem* problem;  // the shape's; null where a gate is asked once
  const SessionFacts& facts;
  const SessionStore& store;  // what earlier sessions of the project know
  MeasureRules rules;
  std::uint64_t seed;  // drawn for this step, on record when it has ended
  TimeBox box;
  GateOptions options;
  bool held_out;  // the shape is one that no proposer has seen
  const Progress& progress;

  WorkerFactory& workers() const { return sides.workers(); }
  KernelBuilder& builder() const { return sides.workers().builder(); }
  const Project& project() const { return sides.workers().project(); }
  const Kernel& kernel() const { return sides.candidate_kernel(); }
  const std::filesystem::path& artifacts() const { return sides.artifacts(); }
};

}  // namespace dent
