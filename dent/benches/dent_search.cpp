// SPDX-License-Identifier: MIT
// Does the search over tunables find more than chance does, at the same number of measurements?
//   dent_bench search record <project> <variant> > space.json   measures every choice of a variant's tunables
//   dent_bench search compare space.json   replays the search and a random one on what was measured
#include "dent_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "gates/performance/timed_side.h"
#include "ledger/session_store.h"
#include "loop/proposers/proposal.h"
#include "loop/search/search.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "records/json.h"

namespace {

using namespace dent;
using nlohmann::json;

constexpr double kSeconds = 0.15;  // for each shape
constexpr double kMinGain = 1.01;
constexpr int kRandomRuns = 1000, kStarts = 200;

// Every choice of the variant's tunables that keeps the constraints.
std::vector<Choice> all_choices(const Project& project, const std::string& variant) {
  std::vector<Choice> choices{{variant, {}}};
  for (const Tunable* tunable : tunables_of(project, choices.front())) {
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const std::string& value : tunable->values) {
        longer.push_back(choice);
        longer.back().tunables[tunable->name] = value;
      }
    }
    choices = std::move(longer);
  }
  std::erase_if(choices, [&](const Choice& choice) { return !broken_constraint(project, choice).empty(); });
  return choices;
}

double fastest_ns(WorkerFactory& workers, Worker& worker, const Problem& problem) {
  workers.inputs().renew(problem, secret_seed());
  TimedSide side(worker, problem, workers, secret_seed());
  double least = 0;
  const auto start = std::chrono::steady_clock::now();
  do {
    constexpr int kCalls = 4;
    const double ns = side.run(kCalls).ns / kCalls;
    least = least == 0 ? ns : std::min(least, ns);
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kSeconds);
  return least;
}

int record_space(const std::string& folder, const std::string& variant) {
  const Project project = read_project(folder);
  SessionStore store(project.directory);
  const Resources resources = find_resources();
  KernelBuilder builder(project, store.prepare(), resources.include);
  WorkerFactory workers(project, resources, builder);
  json points = json::array();
  const auto choices = all_choices(project, variant);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Kernel kernel = kernel_of(project, choices[i]);
    kernel.name = "space";
    std::fprintf(stderr, "%zu of %zu: %s\n", i + 1, choices.size(), describe(choices[i]).c_str());
    try {
      builder.build(kernel);
      const auto worker = workers.start(kernel, Role::candidate, store.folder());
      json times = json::object();
      for (const Problem& problem : workers.problems())
        times[problem.shape] = fastest_ns(workers, *worker, problem);
      points.push_back({{"choice", require_json(to_json_text(choices[i]))}, {"ns", std::move(times)}});
    } catch (const KernelFailed& problem) {
      std::fprintf(stderr, "  %s\n", problem.what());
    }
  }
  json tunables = json::array();
  for (const Tunable* tunable : tunables_of(project, {variant, {}})) {
    tunables.push_back({{"name", tunable->name}, {"values", tunable->values}, {"start", tunable->start}});
  }
  const json space{
      {"project", project.name}, {"variant", variant}, {"tunables", tunables}, {"points", points}};
  std::puts(space.dump(1).c_str());
  return 0;
}

struct Space {
  Project project;
  std::vector<Choice> choices;
  std::map<std::map<std::string, std::string>, double> speed;  // 1 / geometric mean of the times
};

Space read_space(const std::string& file) {
  const auto text = read_text(file);
  if (!text) throw Error(ErrorCode::invalid, "can't read " + file, "write it with dent_bench search record");
  const json document = require_json(*text);
  Space space;
  for (const json& tunable : document.at("tunables")) {
    space.project.tunables.push_back({tunable.at("name"), tunable.at("values"), tunable.at("start")});
  }
  space.project.shapes = {{"all", {}}};
  for (const json& point : document.at("points")) {
    double sum = 0;
    for (const auto& [shape, ns] : point.at("ns").items()) sum += std::log(ns.get<double>());
    Choice choice;
    read_json(point.at("choice"), [&choice](Fields& f) { fields(f, choice); });
    choice.variant.clear();
    space.speed[choice.tunables] = std::exp(-sum / static_cast<double>(point.at("ns").size()));
    space.choices.push_back(std::move(choice));
  }
  return space;
}

// The best after so many measurements beyond the start.
double guided(const Space& space, const Choice& start, int budget) {
  // What is not in the space did not build, or broke a constraint.
  SearchProposer search([&](const Brief&, const Choice& choice) {
    return space.speed.contains(choice.tunables) ? std::string() : std::string("not in the space");
  });
  Brief brief;
  brief.project = &space.project;
  brief.phase = Phase::tuning;
  brief.first = brief.incumbent = start;
  double now = space.speed.at(start.tunables);
  for (int i = 0; i < budget; ++i) {
    const auto proposal = search.propose(brief);
    if (!proposal) break;
    const Choice choice = applied(*proposal, brief.incumbent);
    const double speed = space.speed.at(choice.tunables), gain = speed / now;
    Outcome outcome;
    outcome.kept = gain >= kMinGain;
    outcome.gain = Ratio{gain, {gain, gain}};
    brief.history.push_back({i + 1, *proposal, outcome, choice});
    if (!outcome.kept) continue;
    brief.incumbent = choice;
    now = speed;
  }
  return now;
}

double by_chance(const Space& space, const Choice& start, int budget, std::mt19937& random) {
  std::vector<std::size_t> order(space.choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  double best = space.speed.at(start.tunables);
  for (int i = 0; i < budget && i < static_cast<int>(order.size()); ++i) {
    best = std::max(best, space.speed.at(space.choices[order[static_cast<std::size_t>(i)]].tunables));
  }
  return best;
}

int compare_searches(const std::string& file) {
  const Space space = read_space(file);
  double top = 0;
  for (const auto& [choice, speed] : space.speed) top = std::max(top, speed);
  std::mt19937 random(1);
  std::printf("%zu choices; share of the best choice's speed, mean over starts drawn by lot\n",
              space.choices.size());
  std::printf("%12s %8s %8s %22s\n", "measurements", "search", "random", "search at least as good");
  for (const int budget : {3, 5, 10, 15, 20, 30}) {
    double ours = 0, theirs = 0;
    int better = 0, runs = 0;
    for (int s = 0; s < kStarts; ++s) {
      const Choice& start = space.choices[random() % space.choices.size()];
      const double found = guided(space, start, budget);
      ours += found / top;
      for (int r = 0; r < kRandomRuns / kStarts; ++r, ++runs) {
        const double chance = by_chance(space, start, budget, random);
        theirs += chance / top;
        better += found >= chance ? 1 : 0;
      }
    }
    std::printf("%12d %8.3f %8.3f %20.0f %%\n", budget, ours / kStarts, theirs / runs, 100.0 * better / runs);
  }
  return 0;
}

}  // namespace

namespace dent::bench {

int search(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[2] : "";
  if (what == "record" && argc == 5) return record_space(argv[3], argv[4]);
  if (what == "compare" && argc == 4) return compare_searches(argv[3]);
  std::fputs("dent_bench search record <project> <variant> | dent_bench search compare <space.json>\n",
             stderr);
  return 2;
}

}  // namespace dent::bench
