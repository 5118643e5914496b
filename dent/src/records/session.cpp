// SPDX-License-Identifier: MIT
#include "records/session.h"

namespace dent::record {

void fields(Fields& f, PlannedStep& step) {
  f("step", step.step, "its name");
  f("time_box_s", step.time_box_s, "how long it may take");
  f.may("stop_rule", step.stop_rule, "by which rule it stops, for people");
  f.may("threshold", step.threshold, "what it is held against, for people");
}

void fields(Fields& f, Session& session) {
  f("dent_version", session.dent_version, "of the dent that wrote it");
  f("project", session.project, "name of the project");
  f("operator", session.op, "what is computed");
  f("candidate", session.candidate, "name of the kernel");
  f("baseline", session.baseline, "name of what it is compared with");
  f("device", session.device, "where the kernel runs");
  f.may("device_name", session.device_name, "the processor's or GPU's name");
  f("manifest", session.manifest, "the manifest with every default filled in, as JSON text");
  f("plan", session.plan, "its steps, in order; empty for an optimisation loop");
  f.may("gates", session.gates, "names of the gates that were asked for; with a minus: left out");
  f.may("shapes", session.shapes, "names of the shapes that were asked for; left out for all");
  f.may("command", session.command, "the command, as given");
}

void fields(Fields& f, Cpu& cpu) {
  f.may("model", cpu.model, "the processor's name");
  f("cores", cpu.cores, "that are online");
  f("memory_bytes", cpu.memory_bytes, "of the machine");
  f.may("governor", cpu.governor, "of its clock");
  f.may("load_average", cpu.load_average, "as /proc/loadavg has it");
}

void fields(Fields& f, Gpu& gpu) {
  f.may("name", gpu.name, "its name");
  f.may("driver", gpu.driver, "version of the driver");
  f("memory_mib", gpu.memory_mib, "its memory");
  f("max_clock_mhz", gpu.max_clock_mhz, "highest clock of its SMs");
  f("power_limit_w", gpu.power_limit_w, "what it may draw");
}

void fields(Fields& f, Git& git) {
  f.may("commit", git.commit, "HEAD");
  f.may("branch", git.branch, "that is checked out");
  f("dirty", git.dirty, "whether there are uncommitted changes");
}

void fields(Fields& f, Environment& environment) {
  f.may("system", environment.system, "operating system and its release");
  f.may("machine", environment.machine, "instruction set");
  f.may("host", environment.host, "the machine's name");
  f("cpu", environment.cpu, "its processor");
  f.may("gpus", environment.gpus, "its GPUs");
  f("git", environment.git, "state of the project's repository");
  f.may("walls", environment.walls, "around code that is not trusted, or why one is not there");
}

void fields(Fields& f, Begin& begin) { f("step", begin.step, "that begins"); }

void fields(Fields& f, Note& note) { f("text", note.text, "for people"); }

void fields(Fields& f, Check& check) {
  f("step", check.step, "that asked");
  f("name", check.name, "what was asked about");
  f("found", check.found, "what was found");
  f("verdict", check.verdict, "whether that is enough");
  f.may("fix", check.fix, "what to do about it");
}

void fields(Fields& f, Figure& figure) {
  f("name", figure.name, "what it is");
  f("value", figure.value, "the number");
  f.may("unit", figure.unit, "its unit");
}

void fields(Fields& f, Cheated& cheated) {
  f("name", cheated.cheat, "which cheat");
  f("evidence", cheated.evidence, "what gave it away");
  f.may("step", cheated.step, "that found it");
  f.may("shape", cheated.shape, "on which shape");
}

void fields(Fields& f, Gate& gate) {
  f("step", gate.step, "that ends");
  f("verdict", gate.verdict, "how");
  f("cause", gate.cause, "of a failure: always there when the verdict is fail");
  f("reason", gate.reason, "one line, for people");
  f.may("next", gate.next, "what to do about it");
  f.may("last_words", gate.last_words, "the end of what a worker or a compiler printed");
  f.may("seed", gate.seed, "in hex: the step's inputs derive from it; drawn when it began");
  f("elapsed_s", gate.elapsed_s, "how long it took");
  f.may("own_s", gate.own_s, "of it, waiting neither for the user's compiler nor for a kernel");
  f.may("time_box_s", gate.time_box_s, "how long it might have taken");
  f("failure", gate.failure, "how a worker failed, where one did");
  f("uses", gate.uses, "what its time was spent on");
  f.may("figures", gate.figures, "numbers that the gate found");
}

void fields(Fields& f, Verdict& verdict) {
  f("verdict", verdict.verdict, "the session's");
  f("reason", verdict.reason, "one line, for people");
  f.may("next", verdict.next, "what to do next");
  f("exit_code", verdict.exit_code, "of the command");
  f("elapsed_s", verdict.elapsed_s, "all steps together");
  f.may("own_s", verdict.own_s, "of it, waiting neither for the user's compiler nor for a kernel");
}

}  // namespace dent::record
