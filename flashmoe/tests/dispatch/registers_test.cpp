// SPDX-License-Identifier: MIT
// dispatch::registers_of is a table by hand. Here it is held against the compiler's own report of this build:
// a plan's kernel must not use more registers than the table says, and as many of its blocks must fit an SM.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

#include "device/occupancy.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/predict.h"

namespace flashmoe::dispatch::registers_test {
namespace {

using Registers = std::map<std::string, std::map<std::string, int>>;  // by kernel, by architecture

// The table of scripts/kernel-resources: a header with the architectures, then a kernel and its cells a line.
Registers compiled() {
  FILE* pipe = popen(KERNEL_RESOURCES, "r");
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t bytes = pipe == nullptr ? 0 : std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), bytes);
  }
  if (pipe != nullptr) pclose(pipe);
  Registers found;
  std::vector<std::string> archs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string word;
    if (archs.empty()) {
      for (std::istringstream header(line); header >> word;) {
        if (word.starts_with("sm_")) archs.push_back(word);
      }
      continue;
    }
    const auto end = line.rfind('>');
    if (end == std::string::npos) continue;
    std::istringstream cells(line.substr(end + 1));
    for (auto arch = archs.begin(); arch != archs.end() && cells >> word;) {
      if (word == "smem") {
        cells >> word;  // bytes: more about the cell before
      } else if (word == "-") {
        ++arch;  // no such kernel for this architecture
      } else {
        found[line.substr(0, end + 1)][*arch++] = std::stoi(word);
      }
    }
  }
  return found;
}

std::string element(DType dtype) {
  return dtype == DType::fp32 ? "float" : dtype == DType::fp16 ? "fp16" : "bf16";
}

// The compiled forms that may run a plan.
std::vector<std::string> forms_of(const ForwardPlan& plan, const ForwardProblem& p) {
  const auto flag = [](bool on) { return on ? "true" : "false"; };
  const std::string type = element(p.dtype), dim = std::to_string(plan.head_dim),
                    tuning = std::to_string(plan.tuning);
  switch (plan.kernel) {
    case ForwardKernel::naive:
      if (needs_general_naive(p))
        return {"naive_forward<naive::General<naive::Spec<" + type + ", " + dim + ">>>"};
      return {"naive_forward<naive::Spec<" + type + ", " + dim + ">>"};
    case ForwardKernel::ampere_forward:
      if (p.attn_mask) return {"ampere_forward_pairs<ampere_forward::PairsSpec<" + type + ", " + dim + ">>"};
      if (p.sinks || p.dropout.p > 0)
        return {"ampere_forward_general<ampere_forward::GeneralSpec<" + type + ", " + dim + ">>"};
      return {std::string(p.window.limits() ? "ampere_forward_runs" : "ampere_forward") +
              "<ampere_forward::Spec<" + type + ", " + dim + ", " + flag(plan.aligned) + ">>"};
    case ForwardKernel::hopper_forward:
      return {"hopper_forward<hopper_forward::Spec<" + type + ", " + tuning + ", (hopper_forward::Visible)" +
              (p.window.limits()        ? "2"
               : p.mask == Mask::causal ? "1"
                                        : "0") +
              ", (Change)" + (p.sinks ? "1" : "0") + ">>"};
    case ForwardKernel::small_forward:
      return {"small_forward<small::Spec<" + type + ", " + tuning + ", false>>",
              "small_forward<small::Spec<" + type + ", " + tuning + ", true>>"};
    case ForwardKernel::decode_forward:
      return {"decode_forward<decode::Spec<" + type + ", " + tuning + ">>"};
  }
  return {};
}

std::vector<ForwardProblem> problems() {
  std::vector<ForwardProblem> all;
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (const Mask mask : {Mask::none, Mask::causal}) {
      for (const int64_t head_dim : {32, 40, 64, 96, 128, 192, 256}) {
        for (const int64_t q_rows : {1, 37, 64, 128, 256, 4096}) {
          for (const int64_t kv_rows : {32, 64, 128, 512, 4096, 65536}) {
            ForwardProblem p;
            p.batch = 1;
            p.q_heads = p.kv_heads = 8;
            p.q_rows = q_rows;
            p.kv_rows = kv_rows;
            p.head_dim = head_dim;
            p.dtype = dtype;
            p.mask = mask;
            p.scale = 0.125F;
            all.push_back(p);
            p.window.left = 20;
            all.push_back(p);
            p.sinks = true;
            all.push_back(p);
            p.sinks = false;
            p.dropout.p = 0.1F;
            all.push_back(p);
            p.attn_mask = true;
            p.pairs.type = PairType::fp32;
            all.push_back(p);
          }
        }
      }
    }
  }
  return all;
}

TEST(Registers, AreWhatTheCompilerReports) {
  const Registers table = compiled();
  ASSERT_FALSE(table.empty()) << KERNEL_RESOURCES << " printed no table";
  std::set<std::string> looked_at, told;
  const auto compare = [&](const std::string& arch, const device::Spec& spec, const ForwardProblem& problem,
                           bool aligned) {
    const ForwardPlan plan = plan_forward(problem, aligned, spec);
    const int claimed = registers_of(plan, problem);
    const int foreseen = device::blocks_per_sm(spec, plan.threads, claimed, plan.smem_bytes);
    const std::vector<std::string> forms = forms_of(plan, problem);
    for (const std::string& form : forms) {
      const auto row = table.find(form);
      if (row == table.end() || !row->second.contains(arch)) continue;
      looked_at.insert(form);
      const int used = row->second.at(arch);
      const int fit = device::blocks_per_sm(spec, plan.threads, used, plan.smem_bytes);
      // Of several forms the table has the largest.
      if (used <= claimed && (fit == foreseen || (forms.size() > 1 && fit > foreseen))) continue;
      if (!told.insert(form + arch).second) continue;
      ADD_FAILURE() << form << " on " << arch << ": " << used << " registers, registers_of says " << claimed
                    << "; " << fit << " blocks of " << plan.threads << " threads fit an SM, foreseen are "
                    << foreseen;
    }
  };
  for (const auto& [gpu, arch] : {std::pair{"A100", "sm_80"}, {"L4", "sm_89"}, {"H200", "sm_90a"}}) {
    for (const ForwardProblem& problem : problems()) {
      for (const bool aligned : {true, false}) compare(arch, device::find(gpu), problem, aligned);
    }
  }
  for (const char* kernel :
       {"naive_forward", "ampere_forward", "hopper_forward", "small_forward", "decode_forward"}) {
    EXPECT_TRUE(std::ranges::any_of(looked_at, [&](const std::string& form) {
      return form.starts_with(kernel);
    })) << kernel;
  }
  EXPECT_GE(looked_at.size(), 30U) << "are the names in forms_of still those of the kernels?";
}

}  // namespace
}  // namespace flashmoe::dispatch::registers_test
