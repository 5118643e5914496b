// SPDX-License-Identifier: MIT
#include "api/bad_gradients.h"

#include <limits>
#include <utility>

namespace flashmoe::test {
namespace {

using Member = Tensor BackwardArgs::*;
constexpr std::pair<const char*, Member> kTensors[] = {
    {"q", &BackwardArgs::q},     {"k", &BackwardArgs::k},       {"v", &BackwardArgs::v},
    {"out", &BackwardArgs::out}, {"dout", &BackwardArgs::dout}, {"dq", &BackwardArgs::dq},
    {"dk", &BackwardArgs::dk},   {"dv", &BackwardArgs::dv}};
constexpr std::pair<const char*, Member> kGradients[] = {kTensors[5], kTensors[6], kTensors[7]};

bool has_rows_of_q(const std::string& name) { return name == "out" || name == "dout" || name == "dq"; }

void add_shapes(std::vector<BadGradient>& all) {
  for (const auto& [text, tensor] : kTensors) {
    const std::string name = text;
    if (name != "q") {
      all.push_back({"bf16 " + name + " with fp32 q",
                     [tensor = tensor](BackwardArgs& a) { (a.*tensor).dtype = DType::bf16; },
                     {name + " is bf16 but q is fp32", "one dtype"}});
    }
    all.push_back({"dtype of " + name,
                   [tensor = tensor](BackwardArgs& a) { (a.*tensor).dtype = DType{7}; },
                   {name + " has dtype 7"}});
    all.push_back({"head_dim of " + name + " = 0",
                   [tensor = tensor](BackwardArgs& a) { (a.*tensor).sizes[3] = 0; },
                   {name + " has head_dim = 0", "at least 1"}});
    all.push_back({"rows of " + name + " = -1",
                   [tensor = tensor](BackwardArgs& a) { (a.*tensor).sizes[2] = -1; },
                   {name + " has rows = -1", "at least 0"}});
    all.push_back({"last stride of " + name,
                   [tensor = tensor](BackwardArgs& a) { (a.*tensor).strides[3] = 2; },
                   {name + " has stride 2 in its last dimension"}});
    all.push_back(
        {"a stride of " + name + " beyond all memory",
         [tensor = tensor](BackwardArgs& a) { (a.*tensor).strides[1] = std::numeric_limits<int64_t>::max(); },
         {name, "spans more memory"}});
    if (name == "q" || name == "k" || name == "v") continue;
    for (int dim = 0; dim < 4; ++dim) {
      all.push_back({"dimension " + std::to_string(dim) + " of " + name,
                     [tensor = tensor, dim](BackwardArgs& a) { (a.*tensor).sizes[dim] += 1; },
                     {name + " has shape [", has_rows_of_q(name) ? "as in q" : "as in k"}});
    }
  }
}

void add_options(std::vector<BadGradient>& all) {
  all.push_back({"heads", [](BackwardArgs& a) { a.k.sizes[1] = a.v.sizes[1] = 3; }, {"multiple"}});
  all.push_back({"mask", [](BackwardArgs& a) { a.mask = Mask{3}; }, {"mask is 3"}});
  all.push_back(
      {"scale", [](BackwardArgs& a) { a.scale = std::numeric_limits<float>::infinity(); }, {"scale is inf"}});
  all.push_back({"threads", [](BackwardArgs& a) { a.execution.threads = -1; }, {"threads is -1"}});
  all.push_back({"device", [](BackwardArgs& a) { a.execution.device = Device{2}; }, {"device is 2"}});
}

void add_pointers(std::vector<BadGradient>& all) {
  const auto add = [&](std::string name, std::function<void(BackwardArgs&)> spoil,
                       std::vector<std::string> says) {
    all.push_back({std::move(name), std::move(spoil), std::move(says), false});
  };
  const auto moved = [](const void* p, int64_t bytes) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(p) + bytes);
  };
  for (const auto& [text, tensor] : kTensors) {
    const std::string name = text;
    add("null " + name, [tensor = tensor](BackwardArgs& a) { (a.*tensor).data = nullptr; },
        {name + " has a null data pointer"});
    add(name + " misaligned",
        [tensor = tensor, moved](BackwardArgs& a) { (a.*tensor).data = moved((a.*tensor).data, 2); },
        {name + " starts 2 bytes past a multiple of 4"});
  }
  add("null lse", [](BackwardArgs& a) { a.lse = nullptr; }, {"lse is null", "attention_forward"});
  add("lse misaligned", [moved](BackwardArgs& a) { a.lse = reinterpret_cast<const float*>(moved(a.lse, 2)); },
      {"lse starts 2 bytes past"});
  add("dlse misaligned",
      [moved](BackwardArgs& a) { a.dlse = reinterpret_cast<const float*>(moved(a.dlse, 2)); },
      {"dlse starts 2 bytes past"});
  for (const auto& [text, gradient] : kGradients) {
    const std::string name = text;
    for (const auto& [input, tensor] : kTensors) {
      if (tensor == gradient) continue;
      add(name + " is " + input,
          [gradient = gradient, tensor = tensor](BackwardArgs& a) { (a.*gradient).data = (a.*tensor).data; },
          {" overlaps "});
    }
    add("lse inside " + name,
        [gradient = gradient](BackwardArgs& a) { a.lse = static_cast<float*>((a.*gradient).data) + 1; },
        {name + " overlaps lse"});
    add("dlse inside " + name,
        [gradient = gradient](BackwardArgs& a) { a.dlse = static_cast<float*>((a.*gradient).data) + 1; },
        {name + " overlaps dlse"});
    for (int dim = 0; dim < 3; ++dim) {
      add("stride " + std::to_string(dim) + " of " + name + " is 0",
          [gradient = gradient, dim](BackwardArgs& a) { (a.*gradient).strides[dim] = 0; },
          {name + " overlaps itself"});
    }
  }
}

}  // namespace

std::vector<BadGradient> bad_gradients() {
  std::vector<BadGradient> all;
  add_shapes(all);
  add_options(all);
  add_pointers(all);
  return all;
}

}  // namespace flashmoe::test
