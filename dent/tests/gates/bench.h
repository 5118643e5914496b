// SPDX-License-Identifier: MIT
// Test support: runs gates in this process, on the kernels of dent/tests/workers/kernels.
#pragma once

#include <filesystem>
#include <string>

#include "gates/registry.h"
#include "ledger/in_child.h"
#include "project/manifest.h"
#include "session/session.h"

namespace dent::test {

class Bench {
 public:
  // `entry`, `baseline`: functions in the library of test kernels. `more`: further sections of the manifest.
  explicit Bench(const std::string& entry, const std::string& baseline = "right",
                 const std::string& more = "")
      : project(parse_project(manifest(entry, baseline, more), scratch.path())),
        store(scratch.path()),
        builder(project, store.prepare(), resources.include),
        workers(project, resources, builder),
        oracle(workers, scratch.path()),
        sides(workers, oracle, project.kernel, scratch.path()) {
    record::Session session;
    session.baseline = project.baselines.front().name;
    facts.take({1, "", "", session});
  }

  // Runs the gate on the first shape.
  GateResult ask(const Gate& gate, GateOptions options = {}) {
    Step step = step_of(gate, project, std::string(gate.info().name), 0);
    step.options = options;
    step.rules = MeasureRules{project.performance};
    step.rules->performance.quiet = quiet;
    return run_step(step, sides, facts, store, [](double, const std::string&) {}).result;
  }

  QuietRule quiet;  // limits for a busy machine

  const ScratchFolder scratch;
  const Resources resources{.native_worker = DENT_WORKER,
                            .oracle = "",
                            .python_worker = "",
                            .include = "",
                            .diagnose = DENT_TREES,
                            .patterns = DENT_PATTERNS};
  const Project project;
  SessionStore store;
  KernelBuilder builder;
  WorkerFactory workers;
  Oracle oracle;
  Sides sides;
  SessionFacts facts;

 private:
  static std::string manifest(const std::string& entry, const std::string& baseline,
                              const std::string& more) {
    const std::string library = std::string("library = \"") + DENT_TEST_KERNELS + "\"";
    return "version = 1\nname = \"scale\"\nshapes = [{ name = \"tiny\", n = 37 }, { name = \"small\", n = "
           "1000 }]\n"
           "[kernel]\n" +
           library + "\nentry = \"" + entry + "\"\n[baseline.plain]\n" + library + "\nentry = \"" + baseline +
           "\"\n[operator]\nname = \"scale\"\ninputs.x = { shape = [\"n\"] }\n"
           "outputs.y = { shape = [\"n\"] }\nreference = { " +
           library +
           ", entry = \"reference\" }\n"
           "[limits]\ncall_seconds = 3\nmemory_gib = 0.5\n[performance]\nseconds = 0.3\n" +
           more;
  }
};

}  // namespace dent::test
