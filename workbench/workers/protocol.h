// SPDX-License-Identifier: MIT
// What parent and worker say to each other: one JSON object per line, requests on descriptor 3, replies on 4.
// Tensors go through shared memory: inputs come out of the pool (5, read only), outputs go into the results
// (6).
//
// docs/dent.md lists every message. The same five verbs serve a candidate, a baseline and a reference.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operators/problem.h"

namespace dent::protocol {

inline constexpr int kVersion = 2;
inline constexpr int kRequests = 3;
inline constexpr int kReplies = 4;
inline constexpr int kPool = 5;
inline constexpr int kResults = 6;
inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;

// A tensor as the worker sees it: where its values come from or go to.
struct TensorPlace {
  Tensor tensor;
  DType stored = DType::fp32;  // inputs: the type in the pool, converted to the tensor's on the way in
  std::size_t at = 0;          // byte in the pool or in the results where it begins
  std::size_t room = 0;        // inputs: bytes of the pool that are put in place beyond it; see aim()
};

struct ProblemMessage {
  std::vector<TensorPlace> inputs;
  std::vector<TensorPlace> outputs;
  Numbers numbers;
  std::size_t calls = 1;  // so many sets of tensors are wanted at once
  bool flush = true;      // caches before each timed stretch
};

using Offsets = std::vector<std::size_t>;  // of one call: for each input, the element in its pool to start at

// Where an input begins in what was put in place for it is said only when its call is due: a thread that has
// watched the bytes arrive can't know which of kAims windows they will be read through. Both sides find the
// window from a number that is drawn for the stretch and sent with "go"; 0: all begin at the beginning.
inline constexpr std::size_t kAimBytes = 64;  // the alignment that kernels are promised
inline constexpr std::size_t kAims = 64;
inline constexpr std::size_t kRoom = (kAims - 1) * kAimBytes;
std::size_t aim(std::uint64_t lot, std::size_t call, std::size_t input);  // in bytes

struct Timed {
  double ns = 0;        // all calls of the stretch, each timed alone, added up
  double slowest = 0;   // the longest of them
  double drain_ns = 0;  // how much longer the device worked after the last call's timer had stopped
};

struct Kept {
  bool late = false;                    // the output changed after the call had returned
  std::vector<std::string> inputs;      // that the kernel has written to
  std::vector<std::string> overruns;    // outputs beyond whose ends it has written
  std::vector<std::string> mismatches;  // outputs of another shape, type or stride than asked for
};

void to_json(nlohmann::json& json, const ProblemMessage& message);
void from_json(const nlohmann::json& json, ProblemMessage& message);
void to_json(nlohmann::json& json, const Timed& timed);
void from_json(const nlohmann::json& json, Timed& timed);
void to_json(nlohmann::json& json, const Kept& kept);
void from_json(const nlohmann::json& json, Kept& kept);

}  // namespace dent::protocol
