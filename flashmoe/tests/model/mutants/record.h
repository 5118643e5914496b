// SPDX-License-Identifier: MIT
// Which run catches each mutant.
#pragma once

#include <string>
#include <vector>

#include "model/mutants/killers.h"
#include "model/mutants/registry.h"

namespace flashmoe::test {

// A mistake, or a statement that is left out, by its switch.
struct Switch {
  std::string what;
  int number = 0;
};

// What all runs of a form without a mistake say, and the statements that they come to. Run once a process.
struct AsItIs {
  std::vector<std::string> alarms;
  std::vector<Statement> reached;
};
const AsItIs& as_it_is(const KernelMutants& of, const Form& form);

// A statement's name among mistakes: of several with one text in a file, which.
std::string without(const KernelMutants& of, const Statement& statement);

// Of these kernels, or of all; what is recorded stays if it still does. The exit code: 1 if something passes
// every run.
int record(Killers& killers, const std::vector<std::string>& kernels);

}  // namespace flashmoe::test
