// SPDX-License-Identifier: MIT
// A command for each gate that has one: part of a session, for when one question is all there is. Each is a
// session as well, so that nothing that was measured is lost.
#include <algorithm>

#include "cli/commands.h"
#include "cli/session_command.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "report/session_view.h"

namespace dent::cli {
namespace {

// The one that was slowest against its baseline when that was last measured, else the largest.
std::string worst_shape(const Project& project) {
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
  const auto largest = std::find_if(project.shapes.rbegin(), project.shapes.rend(),
                                    [](const Shape& shape) { return shape.timed(); });
  return largest->name;
}

struct GateArguments {
  Common common;
  PlanRequest wanted;
  On on;
};

void add(Command& dent, const Gate& gate) {
  const GateInfo& info = gate.info();
  auto arguments = std::make_shared<GateArguments>();
  arguments->wanted.gates = gates_of_command(gate);
  Command& command = dent.command(std::string(info.command), std::string(info.about));
  add_common(command, arguments->common);
  add_events(command, arguments->common);
  add_on(command, arguments->on);
  const bool of_the_worst = info.scope == Scope::worst_shape;
  if (of_the_worst) command.option("PROJECT", arguments->common.project, "The same as --project");
  bool of_a_shape = false;
  for (const Gate* needed : with_needs(gate)) {
    of_a_shape = of_a_shape || needed->info().scope != Scope::once;
    add_options(command, needed->info(), arguments->wanted.options);
  }
  if (of_a_shape)
    command.option("-s,--shape", arguments->wanted.shapes, "Only this shape (may be given several times)");
  command.examples(std::string(info.example));
  command.run([arguments, of_the_worst, name = std::string(info.command)] {
    const Project project = read_project(arguments->common.project);
    PlanRequest wanted = arguments->wanted;
    if (of_the_worst && wanted.shapes.empty()) wanted.shapes = {worst_shape(project)};
    return run_session(name.c_str(), project, wanted, arguments->common, arguments->on);
  });
}

}  // namespace

void add_single_gates(Command& dent) {
  for (const Gate* gate : gates()) {
    if (!gate->info().command.empty()) add(dent, *gate);
  }
}

}  // namespace dent::cli
