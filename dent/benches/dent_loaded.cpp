// SPDX-License-Identifier: MIT
// Does dent tell the truth on a busy machine? The performance gate, with its workers, on a CPU kernel against
// itself and against itself with a planted slowdown, next to other programs.
//
//   dent_bench loaded [--comparisons 100] [--slowdown 0.03] [--time-box 0.5] [--beside spin,memory]
//                     [--programs N] [--json FILE]
//
// `--beside`: `spin`, loops that need nothing but a processor; `memory`, programs that copy arrays larger
// than any cache; `compilers`; `nothing` of ours. `--programs`: how many of them at a time; one for each
// processor unless told. Exit code 0: of 100 comparisons of a kernel with itself at most 5 say FASTER or
// SLOWER, and of 100 with a planted slowdown at most 5 say FASTER or SAME.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
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
  double slowdown = 0.03;
  double time_box_s = 0.5;
  std::vector<std::string> beside{"spin", "memory"};
  int programs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string json;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

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
    else if (key == "--beside")
      options.beside = split(value, ',');
    else if (key == "--programs")
      options.programs = std::stoi(value);
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

const char* const kCompiled =
    "#include <algorithm>\n#include <functional>\n#include <iostream>\n#include <map>\n#include <regex>\n"
    "#include <string>\nint main() { return std::regex_match(\"a\", std::regex(\"a+\")); }\n";
const char* const kCopies = R"(
#include <cstring>
#include <fstream>
#include <vector>
int main(int, char** argv) {
  std::vector<char> from(128u << 20, 1), to(128u << 20, 2);
  std::ofstream(argv[1]) << "it runs";
  for (unsigned i = 0;; ++i) {
    from[i % from.size()] = static_cast<char>(i);
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");
  }
}
)";

// Programs that go on until this goes.
class Load {
 public:
  Load(const std::string& kind, int programs, const Folder& folder) {
    if (kind == "nothing") return;
    const fs::path running = folder / (kind + " runs").c_str();
    for (int i = 0; i < programs; ++i) start(command(kind, folder, running));
    while (kind == "memory" && !fs::exists(running))
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

 private:
  static std::string command(const std::string& kind, const Folder& folder, const fs::path& running) {
    if (kind == "spin") return "while :; do :; done";
    if (kind == "compilers") {
      folder.write("load.cpp", kCompiled);
      return fmt::format("while :; do '{}' -std=c++17 -O2 -c -o /dev/null '{}'; done", cxx_compiler(),
                         (folder / "load.cpp").string());
    }
    if (kind != "memory")
      throw std::invalid_argument("beside " + kind + "; spin, memory, compilers, nothing");
    folder.write("copies.cpp", kCopies);
    const std::string program = (folder / "copies").string();
    return fmt::format("'{}' -O2 -o '{}'.$$ '{}' && exec '{}'.$$ '{}'", cxx_compiler(), program,
                       (folder / "copies.cpp").string(), program, running.string());
  }
  void start(const std::string& script) {
    running_.push_back(std::make_unique<Process>(Command{.argv = {"/bin/sh", "-c", script}}));
  }

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

constexpr const char* kVerdicts[] = {"FASTER", "SLOWER", "SAME", "AMBIGUOUS", "BUSY MACHINE"};

struct Tally {
  std::map<std::string, int> verdicts;
  int busy = 0;
  std::vector<double> centres, lows, highs, waited, others, taken;
  int of(const char* verdict) const {
    const auto found = verdicts.find(verdict);
    return found == verdicts.end() ? 0 : found->second;
  }
};

Tally compare_many(const Options& options, int candidate_passes, const Folder& folder,
                   const std::string& title) {
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
    ++tally.verdicts[in_words(found->verdict, false, found->too_busy)];
    tally.taken.push_back(std::max(found->taken.value_or(Doubt{}).low, found->taken.value_or(Doubt{}).high));
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
                      {"highs", tally.highs}, {"waited", tally.waited},   {"others", tally.others},
                      {"taken", tally.taken}};
  fmt::print("{:<40}", title);
  for (const char* verdict : kVerdicts) {
    fmt::print("  {} {:>3}", verdict, tally.of(verdict));
    json[verdict] = tally.of(verdict);
  }
  fmt::print(
      "   {} on a busy machine; medians: others had {:.2f} processors, waited {:.0f} %, charged {:.2f} %\n",
      tally.busy, median(tally.others), 100 * median(tally.waited), 100 * median(tally.taken));
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
                      {"programs", options.programs},
                      {"cpu", machine.cpu.model},
                      {"cores", machine.cpu.cores},
                      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
  bool good = true;
  for (const std::string& kind : options.beside) {
    const Load load(kind, options.programs, folder);
    const Tally same = compare_many(options, kPasses, folder, "the same kernel, beside " + kind);
    const Tally slower = compare_many(options, slower_passes, folder, "with the slowdown, beside " + kind);
    json[kind] = {
        {"same", show("the same kernel twice, beside " + kind + ":", same)},
        {"slower", show(fmt::format("{:g} % slower, beside {}:", 100 * options.slowdown, kind), slower)}};
    if (!options.json.empty()) std::ofstream(options.json) << json.dump(1) << '\n';
    const int invented = same.of("FASTER") + same.of("SLOWER");
    const int missed = slower.of("FASTER") + slower.of("SAME");
    fmt::print("beside {}: wrong {} of {} and {} of {}; at most 5 of 100 are good\n", kind, invented,
               options.comparisons, missed, options.comparisons);
    good = good && invented <= 0.05 * options.comparisons && missed <= 0.05 * options.comparisons;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace dent::bench
