// SPDX-License-Identifier: MIT
#include "api/bad_inputs.h"

#include <limits>
#include <utility>

namespace flashmoe::test {
namespace {

using Member = Tensor ForwardArgs::*;
constexpr std::pair<const char*, Member> kTensors[] = {
    {"q", &ForwardArgs::q}, {"k", &ForwardArgs::k}, {"v", &ForwardArgs::v}, {"out", &ForwardArgs::out}};

void* advanced(void* p, int64_t bytes) { return static_cast<std::byte*>(p) + bytes; }

void add_types(std::vector<BadInput>& all) {
  for (const auto& [name, tensor] : kTensors) {
    for (int value : {-1, 3, 1000}) {
      all.push_back(
          {std::string("dtype of ") + name + " = " + std::to_string(value),
           [tensor = tensor, value](ForwardArgs& a) { (a.*tensor).dtype = static_cast<DType>(value); },
           {name, "dtype " + std::to_string(value), "0 (fp32), 1 (fp16), 2 (bf16)"}});
    }
  }
  for (const auto& [name, tensor] : {kTensors[1], kTensors[2], kTensors[3]}) {
    all.push_back({std::string("bf16 ") + name + " with fp32 q",
                   [tensor = tensor](ForwardArgs& a) { (a.*tensor).dtype = DType::bf16; },
                   {std::string(name) + " is bf16 but q is fp32", "must share one dtype"}});
  }
}

void add_sizes(std::vector<BadInput>& all) {
  static constexpr const char* kDims[] = {"batch", "heads", "rows", "head_dim"};
  for (const auto& [name, tensor] : kTensors) {
    for (int dim = 0; dim < 4; ++dim) {
      for (int64_t size : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
        all.push_back(
            {std::string(kDims[dim]) + " of " + name + " = " + std::to_string(size),
             [tensor = tensor, dim, size](ForwardArgs& a) { (a.*tensor).sizes[dim] = size; },
             {std::string(name) + " has " + kDims[dim] + " = " + std::to_string(size), "at least"}});
      }
    }
    all.push_back({std::string("head_dim of ") + name + " = 0",
                   [tensor = tensor](ForwardArgs& a) { (a.*tensor).sizes[3] = 0; },
                   {std::string(name) + " has head_dim = 0", "at least 1"}});
    all.push_back({std::string("last stride of ") + name + " = 2",
                   [tensor = tensor](ForwardArgs& a) { (a.*tensor).strides[3] = 2; },
                   {std::string(name) + " has stride 2 in its last dimension", "must be 1"}});
    all.push_back({std::string("last stride of ") + name + " = 0",
                   [tensor = tensor](ForwardArgs& a) { (a.*tensor).strides[3] = 0; },
                   {std::string(name) + " has stride 0 in its last dimension", "must be 1"}});
    all.push_back(
        {std::string("a stride of ") + name + " beyond all memory",
         [tensor = tensor](ForwardArgs& a) { (a.*tensor).strides[1] = std::numeric_limits<int64_t>::max(); },
         {name, "spans more memory"}});
    all.push_back(
        {std::string("negative stride of ") + name + " beyond all memory",
         [tensor = tensor](ForwardArgs& a) { (a.*tensor).strides[1] = std::numeric_limits<int64_t>::min(); },
         {name, "spans more memory"}});
  }
  all.push_back({"2^62 keys by a stride of 0",
                 [](ForwardArgs& a) {
                   a.k.sizes[2] = a.v.sizes[2] = int64_t{1} << 62;
                   a.k.strides[2] = a.v.strides[2] = 0;
                 },
                 {"k", "4611686018427387904", "spans more memory"}});
}

void add_mismatches(std::vector<BadInput>& all) {
  const auto mismatch = [&](const char* name, Member tensor, int dim, int64_t size, const char* wanted) {
    all.push_back(
        {std::string(name) + " has size " + std::to_string(size) + " in dimension " + std::to_string(dim),
         [=](ForwardArgs& a) { (a.*tensor).sizes[dim] = size; },
         {std::string(name) + " has shape [", std::to_string(size), wanted}});
  };
  mismatch("k", &ForwardArgs::k, 0, 1, "must be 2, as in q");
  mismatch("k", &ForwardArgs::k, 0, 0, "must be 2, as in q");
  mismatch("k", &ForwardArgs::k, 3, 8, "must be 16, as in q");
  mismatch("v", &ForwardArgs::v, 0, 1, "must be 2, as in k");
  mismatch("v", &ForwardArgs::v, 1, 1, "must be 2, as in k");
  mismatch("v", &ForwardArgs::v, 2, 6, "must be 23, as in k");
  mismatch("v", &ForwardArgs::v, 3, 8, "must be 16, as in k");
  mismatch("out", &ForwardArgs::out, 0, 1, "must be 2, as in q");
  mismatch("out", &ForwardArgs::out, 1, 2, "must be 4, as in q");
  mismatch("v", &ForwardArgs::v, 2, 0, "must be 23, as in k");
  mismatch("out", &ForwardArgs::out, 2, 0, "must be 5, as in q");
  mismatch("out", &ForwardArgs::out, 2, 7, "must be 5, as in q");
  mismatch("out", &ForwardArgs::out, 3, 8, "must be 16, as in q");
  const auto heads = [&](int64_t q_heads, int64_t kv_heads) {
    all.push_back(
        {std::to_string(q_heads) + " query heads for " + std::to_string(kv_heads),
         [=](ForwardArgs& a) {
           a.q.sizes[1] = a.out.sizes[1] = q_heads;
           a.k.sizes[1] = a.v.sizes[1] = kv_heads;
         },
         {"q has " + std::to_string(q_heads) + " heads", "k has " + std::to_string(kv_heads), "multiple"}});
  };
  heads(3, 2);
  heads(4, 3);
  heads(2, 4);
  heads(4, 0);
}

void add_choices(std::vector<BadInput>& all) {
  for (int value : {-1, 3, 77}) {
    all.push_back({"mask " + std::to_string(value),
                   [=](ForwardArgs& a) { a.mask = static_cast<Mask>(value); },
                   {"mask is " + std::to_string(value), "0 (none), 1 (causal), 2 (causal_top_left)"}});
  }
  for (int value : {-1, 2}) {
    all.push_back({"device " + std::to_string(value),
                   [=](ForwardArgs& a) { a.execution.device = static_cast<Device>(value); },
                   {"device is " + std::to_string(value), "0 (cpu), 1 (cuda)"}});
  }
  all.push_back({"scale NaN",
                 [](ForwardArgs& a) { a.scale = std::numeric_limits<float>::quiet_NaN(); },
                 {"scale is", "nan", "finite"}});
  all.push_back({"scale inf",
                 [](ForwardArgs& a) { a.scale = std::numeric_limits<float>::infinity(); },
                 {"scale is inf", "finite"}});
  all.push_back({"scale -inf",
                 [](ForwardArgs& a) { a.scale = -std::numeric_limits<float>::infinity(); },
                 {"scale is -inf", "finite"}});
  all.push_back(
      {"threads -1", [](ForwardArgs& a) { a.execution.threads = -1; }, {"threads is -1", "0 (all cores)"}});
}

void add_pointers(std::vector<BadInput>& all) {
  const auto add = [&](std::string name, std::function<void(ForwardArgs&)> spoil,
                       std::vector<std::string> says) {
    all.push_back({std::move(name), std::move(spoil), std::move(says), ErrorCode::invalid_argument, false});
  };
  for (const auto& [name, tensor] : kTensors) {
    add(std::string("null ") + name, [tensor = tensor](ForwardArgs& a) { (a.*tensor).data = nullptr; },
        {std::string(name) + " has a null data pointer"});
    for (int64_t past : {1, 2, 3}) {
      add(std::string(name) + " misaligned by " + std::to_string(past),
          [tensor = tensor, past](ForwardArgs& a) { (a.*tensor).data = advanced((a.*tensor).data, past); },
          {std::string(name) + " starts " + std::to_string(past) + " bytes past a multiple of 4"});
    }
  }
  add("lse misaligned", [](ForwardArgs& a) { a.lse = static_cast<float*>(advanced(a.lse, 2)); },
      {"lse starts 2 bytes past a multiple of 4"});
}

void add_overlaps(std::vector<BadInput>& all) {
  const auto add = [&](std::string name, std::function<void(ForwardArgs&)> spoil,
                       std::vector<std::string> says) {
    all.push_back({std::move(name), std::move(spoil), std::move(says), ErrorCode::invalid_argument, false});
  };
  for (const auto& [name, tensor] : {kTensors[0], kTensors[1], kTensors[2]}) {
    add(std::string("out is ") + name, [tensor = tensor](ForwardArgs& a) { a.out.data = (a.*tensor).data; },
        {std::string("out overlaps ") + name});
    add(std::string("lse inside ") + name,
        [tensor = tensor](ForwardArgs& a) { a.lse = static_cast<float*>((a.*tensor).data) + 3; },
        {std::string("lse overlaps ") + name});
  }
  add("out starts at the last row of q",
      [](ForwardArgs& a) { a.out.data = advanced(a.q.data, (2 * 4 * 5 - 1) * 16 * 4); }, {"out overlaps q"});
  add("out ends in the first row of q",
      [](ForwardArgs& a) { a.q.data = advanced(a.out.data, (2 * 4 * 5 - 1) * 16 * 4); }, {"out overlaps q"});
  add("out over a reversed q",
      [](ForwardArgs& a) {
        a.q = {advanced(a.out.data, (2 * 4 * 5 - 1) * 16 * 4), a.q.dtype, a.q.sizes, {-320, -80, -16, 1}};
      },
      {"out overlaps q"});
  add("lse inside out", [](ForwardArgs& a) { a.lse = static_cast<float*>(a.out.data) + 5; },
      {"lse overlaps out"});
  for (int dim = 0; dim < 3; ++dim) {
    add("stride " + std::to_string(dim) + " of out is 0", [=](ForwardArgs& a) { a.out.strides[dim] = 0; },
        {"out overlaps itself", "strides ["});
  }
  add("rows of out overlap by one element", [](ForwardArgs& a) { a.out.strides[2] = 15; },
      {"out overlaps itself", "15"});
  add("heads of out overlap", [](ForwardArgs& a) { a.out.strides[1] = 79; }, {"out overlaps itself", "79"});
}

}  // namespace

std::vector<BadInput> bad_inputs() {
  std::vector<BadInput> all;
  add_types(all);
  add_sizes(all);
  add_mismatches(all);
  add_choices(all);
  add_pointers(all);
  add_overlaps(all);
  return all;
}

}  // namespace flashmoe::test
