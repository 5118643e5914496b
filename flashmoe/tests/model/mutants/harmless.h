// SPDX-License-Identifier: MIT
// Statements that order what a kernel's threads do, and that can be left out all the same.
#pragma once

#include <string>
#include <vector>

#include "model/mutants/registry.h"

namespace flashmoe::test {

// Why nothing notices that a statement is missing, or "" if something should.
std::string why_harmless(const std::string& form, const std::vector<Statement>& reached,
                         const Statement& statement);

}  // namespace flashmoe::test
