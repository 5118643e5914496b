// SPDX-License-Identifier: MIT
// A kernel project: what a manifest says, checked and complete.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "operators/problem.h"
#include "project/launch_rule.h"

namespace dent {

enum class DeviceKind { cpu, cuda };
inline const char* name(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "cpu"; }

// Something to build and run: the candidate, or what it is compared with. Exactly one of `sources`, `library`
// and `python` says where it comes from.
struct Kernel {
  std::string name;
  std::vector<std::string> sources;  // compiled by dent: g++, or nvcc when one ends in .cu
  std::string entry;  // of dent/kernel.h; or a C++ declaration, for which dent writes the entry
  std::vector<std::string> flags;
  std::vector<std::string> include;  // folders
  std::vector<std::string> link;     // files and -l options
  std::string build;                 // a shell command that makes `library`
  std::string library;
  std::string python;  // "module:function"
  DeviceKind device = DeviceKind::cpu;
  LaunchRule launch;  // may be empty
};

struct Limits {
  double build_seconds = 600;
  double call_seconds = 30;  // any one request to a worker
  double load_seconds = 60;
  double memory_gib = 8;
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
};

struct Project {
  std::filesystem::path directory;
  std::string name;
  Kernel kernel;
  std::vector<Kernel> baselines;  // in order; the first that can run here is used
  Operator op;
  std::string python;         // interpreter; empty: look for one
  std::vector<Shape> shapes;  // smallest first, as the manifest orders them
  CorrectnessRules correctness;
  PerformanceRules performance;
  Limits limits;
  double budget_minutes = 0;                                               // 0: none
  std::vector<std::pair<std::string, std::vector<std::string>>> tunables;  // macro -> values to try
};

}  // namespace dent
