// SPDX-License-Identifier: MIT
// Why is it not faster? One call under a profiler, and one named bottleneck with its evidence and the
// patterns that mend it. Mandatory in a session whenever a shape is below 1.0x.
#pragma once

#include <cstdint>
#include <filesystem>

#include "diagnose/diagnosis.h"
#include "diagnose/profile.h"
#include "gates/gate.h"
#include "gates/workshop.h"
#include "ledger/session_store.h"

namespace dent {

class ProfileGate {
 public:
  // `store`: whose ledgers know what patterns have brought; `artifacts`: gets the raw report.
  ProfileGate(Workshop& workshop, const SessionStore& store, std::filesystem::path artifacts)
      : workshop_(workshop), store_(store), artifacts_(std::move(artifacts)) {}

  // Passes with the record "diagnosis" whether or not there is an answer: a refusal is one, and says what is
  // missing. The candidate must have passed the correctness gate. Throws KernelFailed when the kernel fails,
  // not when a profiler does.
  GateResult run(const Kernel& kernel, const Problem& problem, std::uint64_t seed, const Progress& progress);

 private:
  Workshop& workshop_;
  const SessionStore& store_;
  std::filesystem::path artifacts_;
};

// The parts, for whoever wants no gate around them.
Profile profile_gpu(Workshop& workshop, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress);
Profile profile_cpu(Workshop& workshop, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const Progress& progress);

record::Diagnosis diagnosis_record(const Problem& problem, const std::string& op, const Profile& profile,
                                   const Tree& tree, const Diagnosis& diagnosis);

}  // namespace dent
