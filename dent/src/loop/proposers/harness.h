// SPDX-License-Identifier: MIT
// The files that say what is right and what it is compared with. A proposer may change neither them nor
// anything else that it was not given: what judges it must not be in its hands.
#pragma once

#include <string>
#include <vector>

#include "project/project.h"
#include "repository/worktree.h"

namespace dent {

// Manifest, baselines, reference, and what the manifest protects; relative to the project's folder.
std::vector<std::string> protected_files(const Project& project);
// Patterns of files that a source change may touch: the manifest's, or the kernel's own sources.
std::vector<std::string> allowed_files(const Project& project);

// Of the protected files as they are in the user's tree, where baselines and reference run.
std::string harness_hash(const Project& project);

// Why a change can't be accepted; "" when it can. `declared`: the files that its proposer named.
std::string refusal(const Worktree::Change& change, const std::vector<std::string>& declared,
                    const Project& project);

}  // namespace dent
