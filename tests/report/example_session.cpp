// SPDX-License-Identifier: MIT
#include "report/example_session.h"

#include "ledger/ledger.h"
#include "records/sampling_records.h"
#include "measure/simulated.h"

namespace dent::test {
namespace {

using nlohmann::json;

class Teller {
 public:
  void tell(const char* kind, json data) {
    const auto number = static_cast<std::int64_t>(records_.size()) + 1;
    records_.push_back(
        {number, "2026-03-31T14:05:0" + std::to_string(number % 10) + ".000Z", kind, std::move(data)});
  }
  void gate(const char* step, const char* verdict, const char* reason, double took_s, double box_s,
            json more = {}) {
    json data{{"step", step},
              {"verdict", verdict},
              {"reason", reason},
              {"elapsed_s", took_s},
              {"time_box_s", box_s}};
    if (!more.is_null()) data.update(more);
    tell("gate", std::move(data));
  }
  std::vector<Record> take() { return std::move(records_); }

 private:
  std::vector<Record> records_;
};

void opening(Teller& t) {
  json plan = json::array();
  for (const auto& [step, box, threshold] : {std::tuple{"preflight", 5.0, "every check"},
                                             {"build", 60.0, "no spills"},
                                             {"correctness", 30.0, "error <= bound"},
                                             {"performance", 40.0, "speed-up >= 1"}}) {
    plan.push_back(
        {{"step", step}, {"time_box_s", box}, {"threshold", threshold}, {"stop_rule", "first failure"}});
  }
  t.tell("session", {{"dent_version", "0.1.0"},
                     {"project", "attention <cpu>"},
                     {"operator", "attention.forward"},
                     {"candidate", "flashmoe"},
                     {"baseline", "naive & plain"},
                     {"device", "cpu"},
                     {"device_name", "Neoverse-N1"},
                     {"seed", "3fa9"},
                     {"manifest", "version = 1\n[kernel]\n"},
                     {"plan", plan}});
  t.tell("environment", {{"system", "Linux 6.1"},
                         {"cpu", {{"model", "Neoverse-N1"}, {"cores", 2}, {"memory_bytes", 8589934592}}},
                         {"git", {{"commit", std::string(40, 'a')}, {"dirty", false}}}});
  t.tell("begin", {{"step", "preflight"}});
  t.tell("check", {{"step", "preflight"}, {"name", "compiler"}, {"found", "g++ 12.2"}, {"verdict", "pass"}});
  t.tell("check", {{"step", "preflight"},
                   {"name", "GPU"},
                   {"found", "none"},
                   {"verdict", "skipped"},
                   {"fix", "not needed on the CPU"}});
  t.gate("preflight", "pass", "2 checks", 0.4, 5);
  t.tell("begin", {{"step", "build"}});
  t.tell("build", {{"source_hash", "sha256:1234"}, {"seconds", 3.5}, {"log", "build.log"}});
  t.tell("prediction",
         {{"shape", "tiny"},
          {"headline", "2 CTAs on 58 SMs: 3.4 % of the L4 works"},
          {"dominating", "fp32"},
          {"expected_us", 15.4},
          {"low_us", 7.7},
          {"high_us", 30.9},
          {"changes", {{{"change", "kv_splits 1 -> 32: 2 -> 64 CTAs"}, {"expected_us", 4.5}}}}});
  t.gate("build", "pass", "built", 3.5, 60);
  t.tell("begin", {{"step", "correctness"}});
}

void correctness(Teller& t, bool right) {
  json record{{"shape", "tiny"},
              {"seeds", 3},
              {"elements", 2048},
              {"bad", right ? 0 : 17},
              {"max_error", right ? 1e-7 : 4.72},
              {"bound", 1e-6},
              {"verdict", right ? "pass" : "fail"}};
  if (!right) record["first_bad"] = {{"index", "out[0, 1, 5]"}, {"got", "nan"}, {"expected", 0.25}};
  t.tell("correctness", std::move(record));
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
  t.tell("samples", samples_record(shape, sampling));
  json comparison = comparison_record(shape, sampling, {});
  comparison.update({{"flops", 15e3 * static_cast<double>(seed)}, {"bytes", 2e3}, {"floor_ns", 90.0}});
  t.tell("comparison", std::move(comparison));
}

void performance(Teller& t) {
  t.tell("begin", {{"step", "performance"}});
  t.tell("roofline", {{"device", "Neoverse-N1, 2 cores"},
                      {"peak_gflops", 160.0},
                      {"peak_gbs", 20.0},
                      {"source", "measured"}});
  sampled(t, "tiny", 1.4, 1, false);
  sampled(t, "medium", 1.02, 2, true);
  sampled(t, "large", 0.96, 8, false);
}

void diagnosis(Teller& t) {
  t.tell(
      "diagnosis",
      {{"shape", "large"},
       {"tool", "Nsight Compute 2025.3.1"},
       {"tree", "gpu.toml"},
       {"device", "cuda"},
       {"degraded", false},
       {"operator", "attention.forward"},
       {"kernel", "softmax<64>"},
       {"limiter", "registers"},
       {"bottleneck", "few_ctas"},
       {"title", "too few CTAs"},
       {"says", "2 CTAs on 132 SMs: 1.52 % of the GPU gets work"},
       {"phase", "parallelism"},
       {"advice", "cut the work into more CTAs"},
       {"decided", {"ctas 2 < sms 132"}},
       {"overturned", {"not ctas < sms; now ctas 2, sms 132"}},
       {"runner_up", "dram"},
       {"runner_up_says", "DRAM is at 61 % of its peak"},
       {"runner_up_holds", true},
       {"metrics", {{"ctas", 2}, {"duration_us", 12.5}, {"dram_bytes", 4096}}},
       {"targets",
        {{{"quantity", "ctas"},
          {"label", "CTAs"},
          {"value", 2},
          {"target", "ctas >= 4 * sms"},
          {"good", false}},
         {{"quantity", "l1_hit"}, {"label", "L1 hits"}, {"unit", "%"}, {"absent", "not applicable"}}}},
       {"patterns",
        {{{"pattern", "kv-split"},
          {"title", "Split K and V"},
          {"fix", "cut the keys & merge"},
          {"why", "few_ctas"},
          {"expected_gain", 3.0},
          {"evidence", {{"tries", 2}, {"kept", 1}, {"failures", 1}, {"median_gain", 1.25}}}}}},
       {"launches", {{{"kernel", "softmax<64>"}, {"ctas", 2}, {"cta_threads", 256}, {"duration_us", 12.5}}}},
       {"flops", 120000.0},
       {"bytes", 2000.0},
       {"report", "profile.ncu-rep"},
       {"tool_s", 2.4},
       {"elapsed_s", 2.6}});
}

void verdict(Teller& t, const char* word, const char* reason, int exit_code) {
  t.tell("verdict", {{"verdict", word},
                     {"reason", reason},
                     {"next", "dent profile"},
                     {"exit_code", exit_code},
                     {"elapsed_s", 21.5},
                     {"own_s", 1.5}});
}

}  // namespace

std::vector<Record> example_records(Story story) {
  Teller t;
  opening(t);
  correctness(t, story != Story::incorrect);
  if (story == Story::incorrect) {
    t.gate("correctness", "fail", "17 of 2048 elements beyond the bound", 0.9, 30,
           {{"last_words", "assert <failed>\nSegmentation fault"}});
    verdict(t, "INCORRECT", "max error 4.72 at [0, 1, 5], bound 1e-06", 4);
    return t.take();
  }
  t.gate("correctness", "pass", "1 shape, 3 seeds", 0.9, 30);
  performance(t);
  if (story == Story::interrupted) return t.take();
  if (story == Story::cheating) {
    t.tell("cheat", {{"name", "output written after the call had returned"},
                     {"evidence", "2048 bytes changed within 5 ms"},
                     {"step", "performance"},
                     {"shape", "tiny"}});
    t.gate("performance", "fail", "CHEAT: output written after the call had returned", 12, 40);
    verdict(t, "CHEAT", "output written after the call had returned", 8);
    return t.take();
  }
  t.tell("summary", {{"verdict", "FASTER"},
                     {"ratio", {{"centre", 1.11}, {"low", 1.09}, {"high", 1.13}}},
                     {"shapes", 3},
                     {"reason", "interval lies above 1"}});
  t.gate("performance", "pass", "1.11x", 45.5, 40);
  diagnosis(t);
  t.tell("note", {{"text", "the machine was <idle>"}});
  verdict(t, "FASTER", "1.110x (1.090 .. 1.130) over 3 shapes", 0);
  return t.take();
}

SessionFolder example_session(SessionStore& store, Story story) {
  SessionFolder session = store.create();
  Ledger ledger(session.ledger());
  for (const Record& record : example_records(story)) ledger.append(record.kind, record.data);
  return session;
}

}  // namespace dent::test
