// SPDX-License-Identifier: MIT
// Who takes part in a step: the candidate, its opponent (the baseline, or a kernel of the loop's), and the
// oracle. Each process is started when it is first asked for.
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
  // Against the project's baseline. `artifacts`: for what workers print and gates leave.
  Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, std::filesystem::path artifacts);
  // Against another kernel, which `against` names.
  Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, Kernel opponent, Against against,
        std::filesystem::path artifacts);

  Worker& candidate();
  Worker& opponent();
  Oracle& oracle() { return oracle_; }
  void restart();  // candidate and opponent start afresh when they are asked for again

  void set_candidate(Kernel kernel);  // from now on
  const Kernel& candidate_kernel() const { return candidate_kernel_; }
  const Kernel& opponent_kernel();
  Against against() const { return against_; }
  WorkerFactory& workers() const { return workers_; }
  const std::filesystem::path& artifacts() const { return artifacts_; }

  // The first baseline that can run here; `try_them`: by starting those in Python, which may lack a package.
  const Kernel& choose_baseline(bool try_them);
  void keep_baseline(const std::string& name);                      // that an interrupted session had chosen
  const std::vector<std::string>& notes() const { return notes_; }  // why others were not chosen

 private:
  WorkerFactory& workers_;
  Oracle& oracle_;
  Kernel candidate_kernel_;
  std::optional<Kernel> opponent_kernel_;  // none: a baseline
  Against against_;
  std::filesystem::path artifacts_;
  std::unique_ptr<Worker> candidate_, opponent_;
  std::optional<std::size_t> chosen_;  // of the baselines
  std::vector<std::string> notes_;
};

}  // namespace dent
