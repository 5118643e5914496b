// SPDX-License-Identifier: MIT
// Parts of the profile gate, for callers that need no gate.
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

// `artifacts`: folder for the raw report and the worker's output.
Profile profile_gpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress);
Profile profile_cpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress);

// Sets flops_share; "not applicable" if the manifest does not give the number of operations.
void put_flops_share(Quantities& quantities, const Problem& problem, double ns, const Peaks& peaks);

record::Diagnosis diagnosis_record(const Problem& problem, const Operator& op, const Profile& profile,
                                   const Tree& tree, const Diagnosis& diagnosis);

}  // namespace dent
