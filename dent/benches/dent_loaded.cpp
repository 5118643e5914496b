// SPDX-License-Identifier: MIT
// Does dent tell the truth on a busy machine? The performance gate, with its workers, on a CPU kernel against
// itself and against itself with a planted slowdown, while compilers keep every processor busy.
//
//   dent_bench loaded [--comparisons 100] [--slowdown 0.10] [--time-box 1] [--compilers N] [--json FILE]
//
// `--compilers`: how many run at a time; one for each processor unless told, 0 for none of our own. Exit code
// 0: at most 5 of 100 comparisons of a kernel with itself say FASTER or SLOWER, and no planted slowdown is
// called FASTER.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "build/toolchain.h"
#include "dent_bench.h"
#include "gates/registry.h"
#include "project/manifest.h"
#include "session/environment.h"
#include "session/step_runner.h"
#include "system/process.h"

namespace {

using namespace dent;
namespace fs = std::filesystem;

struct Options {
  int comparisons = 100;
  double slowdown = 0.10;
  double time_box_s = 1;
  int compilers = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--comparisons")
      options.comparisons = std::stoi(value);
    else if (key == "--slowdown")
      options.slowdown = std::stod(value);
    else if (key == "--time-box")
      options.time_box_s = std::stod(value);
    else if (key == "--compilers")
      options.compilers = std::stoi(value);
    else if (key == "--json")
      options.json = value;
    else
      throw std::invalid_argument("unknown option " + key);
  }
  return options;
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "dent-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder at " + pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  void write(const char* name, const std::string& text) const { std::ofstream(path_ / name) << text; }

 private:
  fs::path path_;
};

// Compilers that start again when they end, until this goes.
class Load {
 public:
  Load(int compilers, const Folder& folder) {
    folder.write("load.cpp",
                 "#include <algorithm>\n#include <functional>\n#include <iostream>\n#include <map>\n"
                 "#include <regex>\n#include <string>\nint main() { return std::regex_match(\"a\", "
                 "std::regex(\"a+\")); }\n");
    const std::string once = fmt::format("'{}' -std=c++17 -O2 -c -o /dev/null '{}'", cxx_compiler(),
                                         (folder / "load.cpp").string());
    for (int i = 0; i < compilers; ++i) {
      running_.push_back(std::make_unique<Process>(
          Command{.argv = {"/bin/sh", "-c", fmt::format("while :; do {}; done", once)}}));
    }
  }

 private:
  std::vector<std::unique_ptr<Process>> running_;
};

const char* const kKernel = R"(
#include <dent/kernel.h>
#ifndef PASSES
#define PASSES 1000
#endif
extern "C" int kernel(const dent_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const long long n = call->inputs[0].sizes[0];
  for (long long i = 0; i < n; ++i) y[i] = 2 * x[i];
  volatile float sink = 1;
  for (int pass = 0; pass < PASSES; ++pass) sink = sink * 0.999f + 0.001f;
  return 0;
}
)";
const char* const kReference = R"(
#include <dent/kernel.h>
extern "C" int twice(const dent_call* call) {
  const double* x = static_cast<const double*>(call->inputs[0].data);
  double* y = static_cast<double*>(call->outputs[0].data);
  for (long long i = 0; i < call->inputs[0].sizes[0]; ++i) y[i] = 2 * x[i];
  return 0;
}
)";
constexpr int kPasses = 1000;

std::string manifest(const Options& options, int candidate_passes) {
  return fmt::format(R"(version = 1
shapes = [{{ name = "only", n = 1000 }}]
[kernel]
sources = ["kernel.cpp"]
entry = "kernel"
flags = ["-O2", "-DPASSES={}"]
[baseline.same]
sources = ["kernel.cpp"]
entry = "kernel"
flags = ["-O2", "-DPASSES={}"]
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ source = "reference.cpp", entry = "twice" }}
[performance]
seconds = {}
stop_below = 0.01
)",
                     candidate_passes, kPasses, options.time_box_s);
}

struct Tally {
  std::map<std::string, int> verdicts;
  int busy = 0;
  std::vector<double> centres, lows, highs, waited, others;
  int of(SpeedVerdict verdict) const {
    const auto found = verdicts.find(std::string(name(verdict)));
    return found == verdicts.end() ? 0 : found->second;
  }
};

Tally compare_many(const Options& options, int candidate_passes, const Folder& folder, const char* title) {
  const Project project = parse_project(manifest(options, candidate_passes), folder.path());
  SessionStore store(folder.path());
  KernelBuilder builder(project, store.prepare(), find_resources().include);
  WorkerFactory workers(project, find_resources(), builder);
  Oracle oracle(workers, folder.path());
  SessionFacts facts;
  record::Session session;
  session.baseline = project.baselines.front().name;
  facts.take({1, "", "", session});
  Sides sides(workers, oracle, project.kernel, folder.path());
  const auto ask = [&](const Gate& gate) {
    return run_step(step_of(gate, project, std::string(gate.info().name), 0), sides, facts, store,
                    [](double, const std::string&) {})
        .result;
  };
  if (const GateResult built = ask(build_gate()); built.failed() != nullptr)
    throw std::runtime_error(built.reason());
  Tally tally;
  for (int i = 0; i < options.comparisons; ++i) {
    sides.restart();  // as another session would
    const GateResult result = ask(performance_gate());
    const auto* found = result.last<record::Comparison>();
    if (found == nullptr) throw std::runtime_error(result.reason());
    ++tally.verdicts[std::string(name(found->verdict))];
    tally.busy += found->busy;
    if (found->ratio) {
      tally.centres.push_back(found->ratio->centre);
      tally.lows.push_back(found->ratio->interval.low);
      tally.highs.push_back(found->ratio->interval.high);
    }
    tally.waited.push_back(found->disturbance->waited);
    tally.others.push_back(found->disturbance->others);
    fmt::print(stderr, "\r{}: {} of {}", title, i + 1, options.comparisons);
  }
  fmt::print(stderr, "\n");
  return tally;
}

nlohmann::json show(const std::string& title, const Tally& tally) {
  nlohmann::json json{{"busy", tally.busy},   {"centres", tally.centres}, {"lows", tally.lows},
                      {"highs", tally.highs}, {"waited", tally.waited},   {"others", tally.others}};
  fmt::print("{:<28}", title);
  for (auto verdict :
       {SpeedVerdict::faster, SpeedVerdict::slower, SpeedVerdict::same, SpeedVerdict::ambiguous}) {
    fmt::print("  {} {:>3}", name(verdict), tally.of(verdict));
    json[std::string(name(verdict))] = tally.of(verdict);
  }
  fmt::print("   busy machine {}; other programs had {:.2f} processors, waited {:.0f} % (medians)\n",
             tally.busy, median(tally.others), 100 * median(tally.waited));
  return json;
}

}  // namespace

namespace dent::bench {

int loaded(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Folder folder;
  folder.write("kernel.cpp", kKernel);
  folder.write("reference.cpp", kReference);
  const int slower_passes = static_cast<int>(std::lround(kPasses * (1 + options.slowdown)));
  const record::Environment machine = environment_snapshot(folder.path());
  nlohmann::json json{{"comparisons", options.comparisons},
                      {"slowdown", options.slowdown},
                      {"time_box_s", options.time_box_s},
                      {"compilers", options.compilers},
                      {"cpu", machine.cpu.model},
                      {"cores", machine.cpu.cores},
                      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
  const Load load(options.compilers, folder);
  const Tally same = compare_many(options, kPasses, folder, "the same kernel");
  const Tally slower = compare_many(options, slower_passes, folder, "with the slowdown");
  json["same"] = show("the same kernel twice:", same);
  json["slower"] = show(fmt::format("{:.1f} % slower:", 100 * options.slowdown), slower);
  if (!options.json.empty()) std::ofstream(options.json) << json.dump(1) << '\n';
  const int wrong = same.of(SpeedVerdict::faster) + same.of(SpeedVerdict::slower);
  const int reversed = slower.of(SpeedVerdict::faster);
  fmt::print("wrong claims {} of {}, at most {:.0f} are good; slowdowns called FASTER {}, none is good\n",
             wrong, options.comparisons, 0.05 * options.comparisons, reversed);
  return wrong <= 0.05 * options.comparisons && reversed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace dent::bench
