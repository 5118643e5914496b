// SPDX-License-Identifier: MIT
#include "report/example_session.h"

#include <cmath>

#include "ledger/ledger.h"
#include "measure/simulated.h"

namespace dent::test {
namespace {

// Appends records, each with the step that is open.
class Teller {
 public:
  void tell(AnyRecord data) {
    if (const auto* begin = std::get_if<record::Begin>(&data)) step_ = begin->step;
    const bool ends = std::holds_alternative<record::Gate>(data);
    const auto number = static_cast<std::int64_t>(records_.size()) + 1;
    records_.push_back(
        {number, "2026-03-31T14:05:0" + std::to_string(number % 10) + ".000Z", step_, std::move(data)});
    if (ends) step_.clear();
  }
  void begin(const char* step) { tell(record::Begin{step}); }
  void pass(const char* reason, double took_s, double box_s) { tell(gate(reason, took_s, box_s)); }
  void fail(Cause cause, const char* reason, double took_s, double box_s, const char* last_words = "") {
    record::Gate end = gate(reason, took_s, box_s);
    end.verdict = StepVerdict::fail;
    end.cause = cause;
    end.last_words = last_words;
    tell(std::move(end));
  }
  std::vector<Record> take() { return std::move(records_); }

 private:
  record::Gate gate(const char* reason, double took_s, double box_s) const {
    record::Gate gate;
    gate.step = step_;
    gate.reason = reason;
    gate.elapsed_s = took_s;
    gate.time_box_s = box_s;
    return gate;
  }

  std::vector<Record> records_;
  std::string step_;
};

record::Session about() {
  record::Session session;
  session.dent_version = "0.1.0";
  session.project = "attention <cpu>";
  session.op = "attention.forward";
  session.candidate = "flashmoe";
  session.baseline = "naive & plain";
  session.device_name = "Neoverse-N1";
  session.manifest = "version = 1\n[kernel]\n";
  session.plan = {{"preflight", 5, "first failure", "every check"},
                  {"build", 60, "first failure", "no spills"},
                  {"correctness", 30, "first failure", "error <= bound"},
                  {"performance", 40, "first failure", "speed-up >= 1"}};
  return session;
}

record::Environment machine() {
  record::Environment environment;
  environment.system = "Linux 6.1";
  environment.cpu = {"Neoverse-N1", 2, 8589934592, "", ""};
  environment.git = record::Git{std::string(40, 'a'), "", false};
  return environment;
}

record::Prediction foreseen() {
  record::Prediction prediction;
  prediction.shape = "tiny";
  prediction.headline = "2 CTAs on 58 SMs: 3.4 % of the L4 works";
  prediction.dominating = "fp32";
  prediction.expected_us = 15.4;
  prediction.low_us = 7.7;
  prediction.high_us = 30.9;
  prediction.changes = {{"kv_splits 1 -> 32: 2 -> 64 CTAs", 64, 4.5}};
  return prediction;
}

void opening(Teller& t) {
  t.tell(about());
  t.tell(machine());
  t.begin("preflight");
  t.tell(record::Check{"preflight", "compiler", "g++ 12.2", StepVerdict::pass});
  t.tell(record::Check{"preflight", "GPU", "none", StepVerdict::skipped, "not needed on the CPU"});
  t.pass("2 checks", 0.4, 5);
  t.begin("build");
  t.tell(record::Build{"sha256:1234", "", "build.log", 3.5, {}});
  t.tell(foreseen());
  t.pass("built", 3.5, 60);
  t.begin("correctness");
}

void correctness(Teller& t, bool right) {
  record::Correctness record;
  record.shape = "tiny";
  record.seeds = 3;
  record.elements = 2048;
  record.bad = right ? 0 : 17;
  record.max_error = right ? 1e-7 : 4.72;
  record.bound = 1e-6;
  record.verdict = right ? StepVerdict::pass : StepVerdict::fail;
  if (!right) record.first_bad = record::FirstBad{"out[0, 1, 5]", {std::nan("")}, {0.25}};
  t.tell(std::move(record));
}

void sampled(Teller& t, const char* shape, double speedup, std::uint64_t seed, bool with_clocks) {
  Sampling sampling;
  sampling.pairs = simulated_pairs(128, speedup, {.sigma = 0.02, .correlation = 0.3, .spikes = 0.04}, seed);
  for (std::size_t i = 0; i < sampling.pairs.size(); ++i) {
    Pair& pair = sampling.pairs[i];
    if (with_clocks) pair.baseline.clock_mhz = pair.candidate.clock_mhz = i % 20 == 19 ? 1200 : 1980;
  }
  sampling.comparison = compare(sampling.pairs, {});
  sampling.stop = StopReason::decided;
  sampling.elapsed_s = 1.25;
  t.tell(record::samples_of(shape, Against::baseline, sampling));
  record::Comparison comparison = record::comparison_of(shape, Against::baseline, sampling, {});
  comparison.flops = 15e3 * static_cast<double>(seed);
  comparison.bytes = 2e3;
  comparison.floor_ns = 90;
  t.tell(std::move(comparison));
}

void performance(Teller& t) {
  t.begin("performance");
  t.tell(record::Roofline{"Neoverse-N1, 2 cores", 160, 20, PeakSource::measured});
  sampled(t, "tiny", 1.4, 1, false);
  sampled(t, "medium", 1.02, 2, true);
  sampled(t, "large", 0.96, 8, false);
}

record::Diagnosis diagnosis() {
  record::Diagnosis d;
  d.shape = "large";
  d.op = "attention.forward";
  d.tool = "Nsight Compute 2025.3.1";
  d.tree = "gpu.toml";
  d.device = DeviceKind::cuda;
  d.kernel = "softmax<64>";
  d.limiter = "registers";
  d.finding.bottleneck = "few_ctas";
  d.finding.title = "too few CTAs";
  d.finding.says = "2 CTAs on 132 SMs: 1.52 % of the GPU gets work";
  d.finding.phase = "parallelism";
  d.finding.advice = "cut the work into more CTAs";
  d.finding.decided = {"ctas 2 < sms 132"};
  d.finding.overturned = {"not ctas < sms; now ctas 2, sms 132"};
  d.finding.runner_up = "dram";
  d.finding.runner_up_says = "DRAM is at 61 % of its peak";
  d.finding.runner_up_holds = true;
  d.metrics.set("ctas", 2);
  d.metrics.set("duration_us", 12.5);
  d.metrics.set("dram_bytes", 4096);
  d.targets = {{.quantity = "ctas",
                .label = "CTAs",
                .unit = "",
                .value = 2,
                .target = "ctas >= 4 * sms",
                .good = false},
               {.quantity = "l1_hit", .label = "L1 hits", .unit = "%", .absent = "not applicable"}};
  d.patterns = {{.pattern = "kv-split",
                 .title = "Split K and V",
                 .fix = "cut the keys & merge",
                 .phase = "",
                 .why = "few_ctas",
                 .expected_gain = 3,
                 .evidence = {.tries = 2, .kept = 1, .failures = 1, .median_gain = 1.25}}};
  d.launches = {{"softmax<64>", 2, 256, 12.5}};
  d.flops = 120000;
  d.bytes = 2000;
  d.report = "profile.ncu-rep";
  d.tool_s = 2.4;
  d.elapsed_s = 2.6;
  return d;
}

void verdict(Teller& t, Verdict word, const char* reason, int exit_code) {
  t.tell(record::Verdict{word, reason, "dent profile", exit_code, 21.5, 1.5});
}

}  // namespace

std::vector<Record> example_records(Story story) {
  Teller t;
  opening(t);
  correctness(t, story != Story::incorrect);
  if (story == Story::incorrect) {
    t.fail(Cause::incorrect, "17 of 2048 elements beyond the bound", 0.9, 30,
           "assert <failed>\nSegmentation fault");
    verdict(t, Verdict::incorrect, "max error 4.72 at [0, 1, 5], bound 1e-06", 5);
    return t.take();
  }
  t.pass("1 shape, 3 seeds", 0.9, 30);
  performance(t);
  if (story == Story::interrupted) return t.take();
  if (story == Story::cheating) {
    t.tell(record::Cheated{Cheat::late_write, "2048 bytes changed within 5 ms", "performance", "tiny"});
    t.fail(Cause::cheat, "CHEAT: output written after the call had returned", 12, 40);
    verdict(t, Verdict::cheat, "output written after the call had returned", 9);
    return t.take();
  }
  t.tell(record::Summary{SpeedVerdict::faster, Ratio{1.11, {1.09, 1.13}}, 3, "interval lies above 1"});
  t.pass("1.11x", 45.5, 40);
  t.tell(diagnosis());
  t.tell(record::Note{"the machine was <idle>"});
  verdict(t, Verdict::faster, "1.110x (1.090 .. 1.130) over 3 shapes", 0);
  return t.take();
}

SessionFolder example_session(SessionStore& store, Story story) {
  SessionFolder session = store.create();
  Ledger ledger(session.ledger());
  for (const Record& record : example_records(story)) ledger.append(record.data, record.step);
  return session;
}

}  // namespace dent::test
