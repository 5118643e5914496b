// SPDX-License-Identifier: MIT
// Processes of a step: the candidate, its opponent (the baseline, or another kernel in a loop), and the
// oracle. Each is started on first use.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gates/judging/oracle.h"
#include "records/comparison.h"
#include "workers/worker_factory.h"

namespace dent {

class Sides {
 public:
  // Compares with the project's baseline. `artifacts`: folder for workers' output and gates' files.
  Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, std::filesystem::path artifacts);
  // Compares with another kernel, whose role `against` names.
  Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, Kernel opponent, Against against,
        std::filesystem::path artifacts);

  Worker& candidate();
  Worker& opponent();
  Oracle& oracle() { return oracle_; }
  void restart();  // ends candidate and opponent; the next use starts them again

  void set_candidate(Kernel kernel);  // from now on
  const Kernel& candidate_kernel() const { return candidate_kernel_; }
  const Kernel& opponent_kernel();
  Against against() const { return against_; }
  WorkerFactory& workers() const { return workers_; }
  const std::filesystem::path& artifacts() const { return artifacts_; }

  // Chooses the first baseline that can run on this machine. `try_them`: test Python ones by starting them,
  // since a package may be missing.
  const Kernel& choose_baseline(bool try_them);
  void keep_baseline(const std::string& name);                      // the choice of an interrupted session
  const std::vector<std::string>& notes() const { return notes_; }  // why other baselines were not chosen

 private:
  WorkerFactory& workers_;
  Oracle& oracle_;
  Kernel candidate_kernel_;
  std::optional<Kernel> opponent_kernel_;  // not set: a baseline
  Against against_;
  std::filesystem::path artifacts_;
  std::unique_ptr<Worker> candidate_, opponent_;
  std::optional<std::size_t> chosen_;  // index of the chosen baseline
  std::vector<std::string> notes_;
};

}  // namespace dent
