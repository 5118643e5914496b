// SPDX-License-Identifier: MIT
#include "workers/protocol.h"

namespace dent::protocol {
namespace {

using nlohmann::json;

json places(const std::vector<TensorPlace>& tensors) {
  json list = json::array();
  for (const TensorPlace& place : tensors) {
    list.push_back({{"name", place.tensor.name},
                    {"dtype", name(place.tensor.dtype)},
                    {"stored", name(place.stored)},
                    {"sizes", place.tensor.sizes},
                    {"at", place.at},
                    {"room", place.room},
                    {"updates", place.tensor.updates}});
  }
  return list;
}

std::vector<TensorPlace> places(const json& list) {
  std::vector<TensorPlace> tensors;
  for (const json& entry : list) {
    TensorPlace place;
    place.tensor.name = entry.at("name").get<std::string>();
    place.tensor.dtype = parse_dtype(entry.at("dtype").get<std::string>());
    place.tensor.sizes = entry.at("sizes").get<std::vector<std::int64_t>>();
    place.stored = parse_dtype(entry.at("stored").get<std::string>());
    place.at = entry.at("at").get<std::size_t>();
    place.room = entry.at("room").get<std::size_t>();
    place.tensor.updates = entry.at("updates").get<int>();
    tensors.push_back(std::move(place));
  }
  return tensors;
}

}  // namespace

// splitmix64's finisher: every bit of what goes in moves every bit of what comes out.
std::size_t aim(std::uint64_t lot, std::size_t call, std::size_t input) {
  if (lot == 0) return 0;
  std::uint64_t z = lot + 0x9e3779b97f4a7c15U * (call * 16 + input + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>((z ^ (z >> 31U)) % kAims) * kAimBytes;
}

void to_json(json& out, const ProblemMessage& message) {
  out = {{"inputs", places(message.inputs)},
         {"outputs", places(message.outputs)},
         {"numbers", message.numbers},
         {"calls", message.calls},
         {"flush", message.flush}};
}

void from_json(const json& in, ProblemMessage& message) {
  message.inputs = places(in.at("inputs"));
  message.outputs = places(in.at("outputs"));
  message.numbers = in.at("numbers").get<Numbers>();
  message.calls = in.at("calls").get<std::size_t>();
  message.flush = in.at("flush").get<bool>();
}

void to_json(json& out, const Timed& timed) {
  out = {{"ns", timed.ns}, {"slowest_ns", timed.slowest}, {"drain_ns", timed.drain_ns}};
}

void from_json(const json& in, Timed& timed) {
  timed.ns = in.at("ns").get<double>();
  timed.slowest = in.at("slowest_ns").get<double>();
  timed.drain_ns = in.at("drain_ns").get<double>();
}

void to_json(json& out, const Kept& kept) {
  out = {{"late", kept.late},
         {"inputs", kept.inputs},
         {"overruns", kept.overruns},
         {"mismatches", kept.mismatches}};
}

void from_json(const json& in, Kept& kept) {
  kept.late = in.at("late").get<bool>();
  kept.inputs = in.at("inputs").get<std::vector<std::string>>();
  kept.overruns = in.at("overruns").get<std::vector<std::string>>();
  kept.mismatches = in.at("mismatches").get<std::vector<std::string>>();
}

}  // namespace dent::protocol
