// SPDX-License-Identifier: MIT
// A kernel project: what a manifest says, checked and complete.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/disturbance.h"
#include "operators/problem.h"
#include "project/executor_rules.h"
#include "project/launch_rule.h"
#include "records/choice.h"
#include "records/device_kind.h"
#include "records/sandbox.h"

namespace dent {

// Something to build and run: the candidate, or what it is compared with. Exactly one of `sources`, `library`
// and `python` says where it comes from.
struct Kernel {
  std::string name{};
  std::vector<std::string> sources{};  // compiled by dent: g++, or nvcc when one ends in .cu or .cuh
  std::string entry{};  // of dent/kernel.h; or a C or C++ declaration, for which dent writes the entry
  std::string setup{};  // likewise: for the constant inputs, outside the clock; empty: none
  std::vector<std::string> flags{};
  std::vector<std::string> include{};  // folders
  std::vector<std::string> link{};     // files and -l options
  std::string build{};                 // a shell command that makes `library`
  std::string library{};
  std::string python{};  // "module:function"
  DeviceKind device = DeviceKind::cpu;
  std::filesystem::path directory{};  // that its paths are relative to; empty: the project's
  // What it is built with: macros for sources, environment for a build command and for Python.
  std::vector<std::pair<std::string, std::string>> defines{};
  LaunchRule launch{};  // may be empty
};

struct Limits {
  double build_seconds = 600;
  double call_seconds = 30;  // any one request to a worker
  double load_seconds = 60;
  double memory_gib = 8;
  int processes = 4096;  // and threads, of a cell
  double cores = 0;      // of processor time in each second, of a cell; 0: all
  double preflight_seconds = 5;
  double sanitize_seconds = 300;
};

struct CorrectnessRules {
  int seeds = 3;
  double seconds = 10;        // time box for each shape
  bool deterministic = true;  // the same input must give the same bits
};

struct PerformanceRules {
  double seconds = 4;       // time box for each shape
  double precision = 0.02;  // stop when the interval is this narrow
  double same_within = 0.01;
  double stop_below = 0.5;        // of the baseline's speed: stop here
  double profile_below = 1.0;     // profile before going on
  bool flush = true;              // caches
  double baseline_within = 0.10;  // of the recorded baseline, else the session stops
  double alpha = 0.05;            // chance that an interval misses; not a key of the manifest
  QuietRule quiet{};              // beyond it the machine is busy; not a key of the manifest
};

// Something about a kernel that can be set to one of several values, and changes its speed, never its result.
struct Tunable {
  std::string name;                 // of the macro or variable
  std::vector<std::string> values;  // all that are accepted, in order
  std::string start;                // what holds before anything is tuned
  std::string phase{};              // of the loop in which it matters; empty: tuning
  std::string about{};              // one line, for people
};

// A kernel that computes the same in another way: a rung of a ladder.
struct Variant {
  std::string name;
  Kernel kernel;
  std::string phase{};
  std::string about{};
  std::vector<std::string> tunables{};  // that it reads
};

struct OptimizeRules {
  double target = 0;                   // times the baseline's speed; 0: as far as it goes
  std::string target_shape{};          // where; empty: the mean of all shapes
  double min_gain = 0.01;              // that a change must bring to be kept
  double shape_loss = 0.02;            // that no shape may lose, however good the mean
  double false_keep = 0.01;            // chance that a whole loop keeps anything that is no improvement
  int sanitize_every = 5;              // iterations
  int patch_lines = 400;               // changed by one candidate, at most
  std::vector<std::string> files{};    // that a source change may touch; empty: the kernel's own sources
  std::vector<std::string> protect{};  // that no proposal may change, like manifest, baselines and reference
  std::vector<std::string> constraints{};  // over tunables and sizes: "TILE*TILE*4 <= 32768"
  std::vector<std::string> proposers{};    // in order; empty: those that have something to propose
  std::string command{};                   // of the command proposer
  double command_seconds = 600;
  std::optional<Sandbox> command_sandbox{};  // nothing: the project's
  bool command_network = false;              // that it has in its cell
  std::vector<std::string> command_paths{};  // that it may write to, and see, in its cell
  std::vector<std::string> command_env{};    // variables of the environment that it gets in its cell
  std::vector<Shape> held_out_shapes{};      // that no proposer sees; empty: derived from the shapes
};

struct Budget {  // 0: no limit
  double minutes = 0;
  double device_minutes = 0;
  int iterations = 0;
  double usd = 0;
};

struct Rates {  // 0: costs nothing
  double device_usd_per_hour = 0;
  double agent_usd_per_hour = 0;
  double engineer_usd_per_hour = 0;
};

struct Project {
  std::filesystem::path directory;
  std::string name;
  Kernel kernel;
  std::vector<Kernel> baselines;  // in order; the first that can run here is used
  Operator op;
  std::string python;  // interpreter; empty: look for one
  Sandbox sandbox = Sandbox::automatic;
  std::vector<std::string> visible;  // in a cell, besides the project and what its kernels name
  std::vector<Shape> shapes;         // smallest first, as the manifest orders them
  CorrectnessRules correctness;
  PerformanceRules performance;
  Limits limits;
  Budget budget;
  Rates rates;
  std::vector<Tunable> tunables;
  std::vector<Variant> variants;                           // beyond [kernel]
  Kernel first_rung;                                       // [kernel] as written
  std::optional<std::vector<std::string>> first_tunables;  // that [kernel] reads; nothing: all
  Choice choice;                                           // that `kernel` is built with
  OptimizeRules optimize;
  std::vector<ExecutorRules> executors;  // where work may be done; what is measured does not depend on it
};

}  // namespace dent
