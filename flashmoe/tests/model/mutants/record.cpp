// SPDX-License-Identifier: MIT
#include "model/mutants/record.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "model/mutants/caught.h"
#include "model/mutants/harmless.h"
#include "model/mutants/switches.h"

namespace flashmoe::test {
namespace {

// Products of a row and a key, which is what a run takes its time for.
double work_of(const Shape& s) {
  return static_cast<double>(s.batch * s.q_heads * s.q_rows * s.kv_rows) * static_cast<double>(s.head_dim);
}

// The run that is recorded, or else the cheapest one that catches it, or "".
std::string killer_of(const Form& form, int number, const std::string& recorded) {
  std::vector<Run> runs = runs_of(form.name);
  std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
    if ((a.name == recorded) != (b.name == recorded)) return a.name == recorded;
    return work_of(a.what.shape) < work_of(b.what.shape);
  });
  const Switched switched(number);
  for (const Run& run : runs) {
    if (!caught(form, run).empty()) return run.name;
  }
  return "";
}

}  // namespace

const AsItIs& as_it_is(const KernelMutants& of, const Form& form) {
  static std::map<std::string, AsItIs> known;
  const auto [place, is_new] = known.try_emplace(form.name);
  AsItIs& result = place->second;
  if (!is_new) return result;
  forget_reached_statements();
  for (const Run& run : runs_of(form.name)) {
    const std::string what = caught(form, run);
    if (!what.empty()) result.alarms.push_back(run.name + ": " + what);
  }
  const std::set<int> numbers = reached_statements();
  for (const Statement& statement : of.statements) {
    if (numbers.contains(statement.number)) result.reached.push_back(statement);
  }
  return result;
}

std::string without(const KernelMutants& of, const Statement& statement) {
  const auto which = std::count_if(of.statements.begin(), of.statements.end(), [&](const Statement& other) {
    return other.file == statement.file && other.text == statement.text && other.line < statement.line;
  });
  return "without " + statement.file + " " + statement.text + " #" + std::to_string(which + 1);
}

int record(Killers& killers, const std::vector<std::string>& kernels) {
  bool all_caught = true;
  for (const KernelMutants& of : all_mutants()) {
    if (!kernels.empty() && std::find(kernels.begin(), kernels.end(), of.kernel) == kernels.end()) continue;
    Killers found = killers;
    found.forget(of.kernel);
    const auto find = [&](const Form& form, const std::string& what, int number) {
      const std::string run = killer_of(form, number, killers.of(form.name, what));
      std::cerr << form.name << ", " << what << ": " << (run.empty() ? "passes everything" : run) << "\n";
      if (run.empty()) all_caught = false;
      if (run.empty()) return;
      found.set(form.name, what, run);
      killers.set(form.name, what, run);
      killers.save();  // so that an interruption loses one
    };
    for (const Mutant& mutant : of.mutants) {
      if (mutant.mistake != "none") find(mutant.form, mutant.mistake, mutant.number);
    }
    for (const Form& form : of.line_by_line) {
      const std::vector<Statement>& reached = as_it_is(of, form).reached;
      for (const Statement& statement : reached) {
        if (why_harmless(form.name, reached, statement).empty())
          find(form, without(of, statement), statement.number);
      }
    }
    killers = found;  // without mistakes that are no longer there
    killers.save();
  }
  return all_caught ? 0 : 1;
}

}  // namespace flashmoe::test
