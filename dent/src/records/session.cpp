// SPDX-License-Identifier: MIT
#include "records/session.h"

namespace dent::record {

void fields(Fields& f, PlannedStep& step) {
  f("step", step.step, "name of the step");
  f("time_box_s", step.time_box_s, "most time that it may take");
  f.may("stop_rule", step.stop_rule, "rule by which it stops, for people");
  f.may("threshold", step.threshold, "threshold that it applies, for people");
}

void fields(Fields& f, Session& session) {
  f("dent_version", session.dent_version, "version of the dent that wrote it");
  f("project", session.project, "name of the project");
  f("operator", session.op, "the operator");
  f("candidate", session.candidate, "name of the kernel");
  f("baseline", session.baseline, "name of the baseline");
  f("device", session.device, "device that the kernel runs on");
  f.may("device_name", session.device_name, "name of the processor or GPU");
  f("manifest", session.manifest, "the manifest with every default filled in, as JSON text");
  f("plan", session.plan, "its steps, in order; empty for an optimisation loop");
  f.may("gates", session.gates, "names of the requested gates; with a minus: excluded");
  f.may("shapes", session.shapes, "names of the requested shapes; left out: all");
  f.may("command", session.command, "the command line");
}

void fields(Fields& f, Cpu& cpu) {
  f.may("model", cpu.model, "model of the processor");
  f("cores", cpu.cores, "cores that are online");
  f("memory_bytes", cpu.memory_bytes, "memory of the machine");
  f.may("governor", cpu.governor, "frequency governor");
  f.may("load_average", cpu.load_average, "contents of /proc/loadavg");
}

void fields(Fields& f, Gpu& gpu) {
  f.may("name", gpu.name, "name of the GPU");
  f.may("driver", gpu.driver, "version of the driver");
  f("memory_mib", gpu.memory_mib, "memory of the GPU");
  f("max_clock_mhz", gpu.max_clock_mhz, "highest clock of its SMs");
  f("power_limit_w", gpu.power_limit_w, "power limit");
}

void fields(Fields& f, Git& git) {
  f.may("commit", git.commit, "commit of HEAD");
  f.may("branch", git.branch, "branch that is checked out");
  f("dirty", git.dirty, "whether there are uncommitted changes");
}

void fields(Fields& f, Environment& environment) {
  f.may("system", environment.system, "operating system and its release");
  f.may("machine", environment.machine, "instruction set");
  f.may("host", environment.host, "host name");
  f("cpu", environment.cpu, "the processor");
  f.may("gpus", environment.gpus, "the GPUs");
  f("git", environment.git, "state of the project's repository");
  f.may("walls", environment.walls, "protections around untrusted code, or why one is missing");
}

void fields(Fields& f, Begin& begin) { f("step", begin.step, "step that begins"); }

void fields(Fields& f, Note& note) { f("text", note.text, "text for people"); }

void fields(Fields& f, Check& check) {
  f("step", check.step, "step that made the check");
  f("name", check.name, "what was checked");
  f("found", check.found, "what was found");
  f("verdict", check.verdict, "whether that is sufficient");
  f.may("fix", check.fix, "how to fix it");
}

void fields(Fields& f, Figure& figure) {
  f("name", figure.name, "what the number is");
  f("value", figure.value, "the number");
  f.may("unit", figure.unit, "its unit");
}

void fields(Fields& f, Cheated& cheated) {
  f("name", cheated.cheat, "which cheat");
  f("evidence", cheated.evidence, "evidence");
  f.may("step", cheated.step, "step that found it");
  f.may("shape", cheated.shape, "shape on which it was found");
}

void fields(Fields& f, Gate& gate) {
  f("step", gate.step, "step that ends");
  f("verdict", gate.verdict, "result of the step");
  f("cause", gate.cause, "cause of a failure: always present if the verdict is fail");
  f("reason", gate.reason, "reason, one line");
  f.may("next", gate.next, "what to do next");
  f.may("last_words", gate.last_words, "end of the output of a worker or a compiler");
  f.may("seed", gate.seed, "seed of the step's inputs, in hex; drawn when the step began");
  f("elapsed_s", gate.elapsed_s, "duration");
  f.may("own_s", gate.own_s,
        "part of it that is dent's own: waiting neither for the user's compiler nor for a kernel");
  f.may("time_box_s", gate.time_box_s, "most time that it was allowed");
  f("failure", gate.failure, "how a worker failed, if one did");
  f("uses", gate.uses, "what its time was spent on");
  f.may("figures", gate.figures, "numbers that the gate found");
}

void fields(Fields& f, Verdict& verdict) {
  f("verdict", verdict.verdict, "verdict of the session");
  f("reason", verdict.reason, "reason, one line");
  f.may("next", verdict.next, "what to do next");
  f("exit_code", verdict.exit_code, "exit code of the command");
  f("elapsed_s", verdict.elapsed_s, "total time of all steps");
  f.may("own_s", verdict.own_s,
        "part of it that is dent's own: waiting neither for the user's compiler nor for a kernel");
}

}  // namespace dent::record
