// SPDX-License-Identifier: MIT
// The table in flashmoe/docs/reference/support.md is printed from the plans. To write it again:
// FLASHMOE_WRITE_DOCS=1 support_table_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cpu/backward_kernels.h"
#include "cpu/kernels.h"
#include "dispatch/backward.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/problems.h"

namespace flashmoe::dispatch::support_table_test {
namespace {

// Several problems in one row have the same kernels.
struct Feature {
  const char* name;
  std::vector<ForwardProblem> problems;
  bool aligned = true;
  bool deterministic = false;
};

template <class Change>
ForwardProblem with(Change change) {
  ForwardProblem p = problem(2, 16, 4096, 4096, 128);
  p.kv_heads = 4;
  p.mask = Mask::causal;
  change(p);
  return p;
}

void add_documents(ForwardProblem& p) { p.spans.documents = true; }
void add_global_keys(ForwardProblem& p) { p.spans.first_keys = 4; }
void add_lengths(ForwardProblem& p) {
  p.batch = 1;
  p.lengths = {.given = true, .q_packed = true, .k_packed = true, .sequences = 8};
}
void add_padding(ForwardProblem& p) { p.lengths = {.given = true, .sequences = 2}; }
void add_softcap(ForwardProblem& p) { p.softcap = 30; }
void add_slopes(ForwardProblem& p) { p.slopes = true; }
void add_sinks(ForwardProblem& p) { p.sinks = true; }
void add_dropout(ForwardProblem& p) { p.dropout.p = 0.1F; }
void add_tensor(ForwardProblem& p, PairType type, PairGradients gradients = PairGradients::none) {
  p.attn_mask = true;
  p.pairs = {.type = type, .gradients = gradients};
}

using P = ForwardProblem;
std::vector<Feature> features() {
  const auto window = [](P& p) { p.window = {1023, 0}; };
  return {
      {"fp16 and bf16: causal or no mask, grouped heads, log-sum-exp",
       {with([](P&) {}), with([](P& p) { p.mask = Mask::none; })}},
      {"one query row and many keys (decoding)", {with([](P& p) { p.q_rows = 1; })}},
      {"rows that are not whole pieces of 16 bytes", {with([](P& p) { p.head_dim = 65; })}, false},
      {"the same with a window", {with([&](P& p) { p.head_dim = 65, window(p); })}, false},
      {"fp32", {with([](P& p) { p.dtype = DType::fp32; })}},
      {"windows", {with(window)}},
      {"masks of documents, prefixes, left padding, chunks",
       {with(add_documents), with([](P& p) { p.spans.prefix = true; }),
        with([](P& p) { p.spans.left_padding = true; }), with([](P& p) { p.spans.chunk = 512; })}},
      {"global keys (`first_keys`)", {with([&](P& p) { add_global_keys(p), window(p); })}},
      {"the same, deterministic", {with([&](P& p) { add_global_keys(p), window(p); })}, true, true},
      {"packed or padded sequences", {with(add_lengths), with(add_padding)}},
      {"the same with a document mask", {with([](P& p) { add_lengths(p), add_documents(p); })}},
      {"the same with a document mask, deterministic",
       {with([](P& p) { add_lengths(p), add_documents(p); })},
       true,
       true},
      {"softcap, or ALiBi slopes", {with(add_softcap), with(add_slopes)}},
      {"sinks", {with(add_sinks)}},
      {"softcap and slopes together", {with([](P& p) { add_softcap(p), add_slopes(p); })}},
      {"softcap or slopes with a document mask",
       {with([](P& p) { add_softcap(p), add_documents(p); }),
        with([](P& p) { add_slopes(p), add_documents(p); })}},
      {"softcap or slopes with packed sequences",
       {with([](P& p) { add_softcap(p), add_lengths(p); }),
        with([](P& p) { add_slopes(p), add_lengths(p); })}},
      {"sinks with a document mask", {with([](P& p) { add_sinks(p), add_documents(p); })}},
      {"sinks with packed sequences", {with([](P& p) { add_sinks(p), add_lengths(p); })}},
      {"a scale of zero or below", {with([](P& p) { p.scale = 0; }), with([](P& p) { p.scale = -1; })}},
      {"bool `attn_mask`", {with([](P& p) { add_tensor(p, PairType::boolean); })}},
      {"the same with sinks", {with([](P& p) { add_tensor(p, PairType::boolean), add_sinks(p); })}},
      {"float `attn_mask` of q's type", {with([](P& p) { add_tensor(p, PairType::bf16); })}},
      {"the same with head_dim above 128",
       {with([](P& p) { add_tensor(p, PairType::bf16), p.head_dim = 256; })}},
      {"float `attn_mask` of another type", {with([](P& p) { add_tensor(p, PairType::fp32); })}},
      {"any `attn_mask` with softcap, slopes or a document mask",
       {with([](P& p) { add_tensor(p, PairType::boolean), add_softcap(p); }),
        with([](P& p) { add_tensor(p, PairType::bf16), add_slopes(p); }),
        with([](P& p) { add_tensor(p, PairType::bf16), add_documents(p); })}},
      {"float `attn_mask` of q's type with its gradient",
       {with([](P& p) { add_tensor(p, PairType::bf16, PairGradients::of_pairs); }),
        with([](P& p) { add_tensor(p, PairType::bf16, PairGradients::sums); })}},
      {"dropout", {with(add_dropout)}},
  };
}

std::string on_cpu(const ForwardProblem& p, bool backward) {
  const bool slow = backward ? &cpu::choose_backward_kernel(p) == &cpu::portable_backward_kernel()
                             : &cpu::choose_kernel(p) == &cpu::portable_kernel();
  return slow ? "slow" : "fast";
}

std::string forward_on(const device::Spec& gpu, const Feature& feature, const ForwardProblem& p) {
  const ForwardPlan plan = plan_forward(p, feature.aligned, gpu);
  if (plan.kernel == ForwardKernel::naive) return "slow";
  const bool fallback =
      plan.kernel == ForwardKernel::ampere_forward && (p.attn_mask || needs_general(p) != nullptr);
  return fallback ? "fallback" : "fast";
}

std::string backward_on(const device::Spec& gpu, const Feature& feature, const ForwardProblem& p) {
  const BackwardPlan plan = plan_backward(p, feature.aligned, gpu, feature.deterministic);
  if (plan.kernel == BackwardKernel::naive_backward) return "slow";
  return plan.general || plan.with_dpairs ? "fallback" : "fast";
}

// One word, which all problems of the feature share.
template <class Ask>
std::string cell(const Feature& feature, Ask ask) {
  std::set<std::string> words;
  for (const ForwardProblem& p : feature.problems) words.insert(ask(p));
  EXPECT_EQ(words.size(), 1U) << feature.name
                              << ": its problems have kernels of several kinds; give them rows of their own";
  return *words.begin();
}

std::string table() {
  const device::Spec& ampere = device::find("A100 40GB");
  const device::Spec& ada = device::find("L4");
  const device::Spec& hopper = device::find("H200");
  std::string text =
      "| feature | CPU | Ampere, Ada: forward | backward | Hopper: forward | backward |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const Feature& feature : features()) {
    const auto on = [&](const device::Spec& gpu, bool backward) {
      return cell(feature, [&](const P& p) {
        return backward ? backward_on(gpu, feature, p) : forward_on(gpu, feature, p);
      });
    };
    const std::string cpu = cell(feature, [](const P& p) { return on_cpu(p, false); });
    EXPECT_EQ(cpu, cell(feature, [](const P& p) { return on_cpu(p, true); })) << feature.name;
    for (const bool backward : {false, true})
      EXPECT_EQ(on(ampere, backward), on(ada, backward)) << feature.name;
    text += std::string("| ") + feature.name + " | " + cpu + " | " + on(ampere, false) + " | " +
            on(ampere, true) + " | " + on(hopper, false) + " | " + on(hopper, true) + " |\n";
  }
  return text;
}

TEST(SupportTable, IsWhatThePlansSay) {
  const std::string begin = "<!-- begin: support -->\n", end = "<!-- end: support -->\n";
  std::ostringstream read;
  read << std::ifstream(FLASHMOE_SUPPORT_PAGE).rdbuf();
  const std::string page = read.str();
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string wanted = page.substr(0, from) + begin + table() + page.substr(to);
  if (std::getenv("FLASHMOE_WRITE_DOCS") != nullptr) {
    std::ofstream(FLASHMOE_SUPPORT_PAGE) << wanted;
    GTEST_SKIP() << "written again";
  }
  EXPECT_TRUE(page == wanted)
      << "flashmoe/docs/reference/support.md is out of date: FLASHMOE_WRITE_DOCS=1 writes it again";
}

}  // namespace
}  // namespace flashmoe::dispatch::support_table_test
