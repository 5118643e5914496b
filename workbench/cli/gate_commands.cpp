// SPDX-License-Identifier: MIT
// dent preflight, build, check, bench, sanitize: part of a session, for when one question is all there is.
// Each is a session as well, so that nothing that was measured is lost.
#include <algorithm>

#include "cli/commands.h"
#include "cli/session_command.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "report/session_view.h"

namespace dent::cli {
namespace {

struct SingleGate {
  const char* name;
  const char* about;
  PlanOptions plan;
  const char* example;
};

// The one that was slowest against its baseline when that was last measured, else the largest.
std::string shape_to_profile(const Project& project) {
  const SessionStore store(project.directory);
  const auto sessions = store.list();
  for (auto session = sessions.rbegin(); session != sessions.rend(); ++session) {
    std::string slowest;
    double ratio = 1e300;
    try {
      for (const record::Comparison& shape : load_session(*session).comparisons) {
        const bool known = std::any_of(project.shapes.begin(), project.shapes.end(),
                                       [&](const Shape& other) { return other.name == shape.shape; });
        if (!known || !shape.ratio || shape.ratio->centre >= ratio) continue;
        ratio = shape.ratio->centre;
        slowest = shape.shape;
      }
    } catch (const std::exception&) {  // dent log says what is wrong with it
    }
    if (!slowest.empty()) return slowest;
  }
  return project.shapes.back().name;
}

void add(Command& dent, const SingleGate& gate) {
  auto common = std::make_shared<Common>();
  auto options = std::make_shared<RunOptions>();
  options->plan = gate.plan;
  Command& command = dent.command(gate.name, gate.about);
  add_common(command, *common);
  if (gate.plan.profile == Profiling::always) {
    command.option("PROJECT", common->project, "The same as --project");
  }
  if (gate.plan.correctness || gate.plan.performance) {
    command.option("-s,--shape", options->plan.shapes, "Only this shape (may be given several times)");
  }
  if (gate.plan.build) command.flag("--clean", options->clean, "Build from scratch");
  if (gate.plan.baseline)
    command.flag("--rebaseline", options->rebaseline,
                 "Forget the baseline that was recorded for this machine");
  command.examples(gate.example);
  const char* name = gate.name;
  command.run([=] {
    const Project project = read_project(common->project);
    RunOptions run = *options;
    if (run.plan.profile == Profiling::always && run.plan.shapes.empty()) {
      run.plan.shapes = {shape_to_profile(project)};
    }
    return run_session(name, project, std::move(run), *common);
  });
}

}  // namespace

void add_single_gates(Command& dent) {
  const PlanOptions none{.preflight = false,
                         .build = false,
                         .baseline = false,
                         .correctness = false,
                         .performance = false,
                         .profile = Profiling::never};
  PlanOptions preflight = none;
  preflight.preflight = true;
  PlanOptions build = none;
  build.build = true;
  PlanOptions check = build;
  check.correctness = true;
  PlanOptions bench = check;  // the speed of a wrong kernel is of no interest
  bench.baseline = bench.performance = true;
  PlanOptions sanitize = build;
  sanitize.sanitize = true;
  PlanOptions profile = check;  // nor is the profile of a wrong kernel
  profile.profile = Profiling::always;
  for (const SingleGate& gate : {
           SingleGate{"preflight", "Is this machine ready? Says what is missing and how to mend it",
                      preflight, "  dent preflight"},
           SingleGate{"build", "Build the kernel and load it", build, "  dent build --clean"},
           SingleGate{"check", "Is the kernel right? Smallest shape first", check,
                      "  dent check\n  dent check --shape tiny"},
           SingleGate{"bench", "Is the kernel right, and how fast is it against the baseline?", bench,
                      "  dent bench --shape medium"},
           SingleGate{"profile",
                      "Why is the kernel not faster? One call under a profiler, one named bottleneck",
                      profile, "  dent profile my-kernel\n  dent profile --shape medium"},
           SingleGate{"sanitize", "Run the kernel under AddressSanitizer or compute-sanitizer", sanitize,
                      "  dent sanitize"},
       }) {
    add(dent, gate);
  }
}

}  // namespace dent::cli
