// SPDX-License-Identifier: MIT
// The parts of the profile gate, for whoever wants no gate around them.
#pragma once

#include <cstdint>
#include <filesystem>

#include "diagnose/diagnosis.h"
#include "diagnose/profile.h"
#include "gates/gate.h"
#include "predict/peaks.h"
#include "records/diagnosis.h"
#include "workers/worker_factory.h"

namespace dent {

// `artifacts`: gets the raw report and what the worker prints.
Profile profile_gpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress);
Profile profile_cpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress);

// Not applicable where the manifest does not say how many operations the problem takes.
void put_flops_share(Quantities& quantities, const Problem& problem, double ns, const Peaks& peaks);

record::Diagnosis diagnosis_record(const Problem& problem, const Operator& op, const Profile& profile,
                                   const Tree& tree, const Diagnosis& diagnosis);

}  // namespace dent
