// SPDX-License-Identifier: MIT
// Every mistake must be caught, by the model or by the oracle, in the two runs of each case that CI makes;
// and exact copies of the kernels must pass all of them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "dispatch/run.h"
#include "kernels/combine_splits/launch.h"
#include "kernels/on_model.h"
#include "model/mutants/hopper_form.h"
#include "model/mutants/registry.h"

namespace flashmoe::test {

std::vector<Mutant>& mutants() {
  static std::vector<Mutant> all;
  return all;
}

Registration::Registration(const char* kernel, const char* mistake, decltype(Mutant::run) run) {
  mutants().push_back({kernel, mistake, run});
}

namespace {

struct MutantCase {
  Shape shape;
  int num_splits = 1;
};

// Short on purpose, but: more tiles than stages, tails, a row block that sees nothing, groups, splits, odd
// head_dims.
std::vector<MutantCase> cases_for(const std::string& kernel) {
  const auto shape = [](int64_t heads, int64_t kv_heads, int64_t rows, int64_t keys, int64_t dim, Mask mask,
                        Layout layout = Layout::bhsd) {
    return Shape{.q_heads = heads,
                 .kv_heads = kv_heads,
                 .q_rows = rows,
                 .kv_rows = keys,
                 .head_dim = dim,
                 .dtype = DType::fp16,
                 .mask = mask,
                 .layout = layout,
                 .spread = 2};
  };
  if (kernel == "small_forward") {
    return {{shape(2, 1, 9, 100, 64, Mask::causal)},
            {shape(1, 1, 20, 128, 64, Mask::none)},
            {shape(1, 1, 40, 17, 64, Mask::causal)},
            {shape(1, 1, 5, 70, 104, Mask::causal)}};
  }
  if (kernel == "naive") {
    return {{shape(2, 1, 70, 150, 100, Mask::causal)}, {shape(1, 1, 150, 40, 64, Mask::causal)}};
  }
  if (kernel.starts_with("hopper_forward")) {
    const int64_t dim = kernel.ends_with("64") ? 64 : 128;
    return {{shape(6, 6, 100, 100, dim, Mask::none)},
            {shape(2, 1, 330, 394, dim, Mask::causal)},
            {shape(2, 2, 300, 500, dim, Mask::none)}};
  }
  return {
      {shape(4, 2, 40, 300, 64, Mask::causal)},   {shape(1, 1, 150, 150, 128, Mask::causal)},
      {shape(1, 1, 300, 40, 128, Mask::causal)},  {shape(1, 1, 140, 130, 44, Mask::causal, Layout::padded)},
      {shape(2, 1, 20, 500, 128, Mask::none), 3}, {shape(1, 1, 300, 40, 44, Mask::causal, Layout::padded)}};
}

OnModel how_to_run(const Mutant& mutant, const MutantCase& c, const model::Settings& settings) {
  using dispatch::ForwardKernel;
  OnModel how{.choice = {.kernel = ForwardKernel::small_forward, .num_splits = c.num_splits},
              .settings = settings};
  for (ForwardKernel kernel :
       {ForwardKernel::naive, ForwardKernel::ampere_forward, ForwardKernel::hopper_forward}) {
    if (mutant.kernel.starts_with(name_of(kernel))) how.choice.kernel = kernel;
  }
  if (how.choice.kernel == ForwardKernel::hopper_forward) {
    how.choice.num_splits.reset();
    const int blocks_per_sm = mutant.kernel.find("in pairs") == std::string::npos ? 1 : 2;
    how.choice.tuning = hopper_tuning(static_cast<int>(c.shape.head_dim), blocks_per_sm);
    how.sms = 1;  // one block has all tiles, more than it has slots for
  }
  return how;
}

// What is wrong with one run, or "".
std::string caught(const Mutant& mutant, const MutantCase& c, const model::Settings& settings) {
  Problem problem(c.shape);
  const auto run = [&](const dispatch::ForwardPlan& plan, Workspace workspace) {
    const auto params = dispatch::params_for(plan, problem.problem, problem.args, workspace);
    mutant.run(params, plan.aligned, plan.tuning, plan.blocks);
    if (plan.num_splits > 1) kernels::combine_splits::launch(c.shape.dtype, params, plan.head_dim, nullptr);
  };
  try {
    run_on_model(problem, how_to_run(mutant, c, settings), run);
    return problem.disagreement();
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

std::string caught(const Mutant& mutant) {
  for (const MutantCase& c : cases_for(mutant.kernel)) {
    using model::CopyTime;
    for (const model::Settings& settings :
         {model::Settings{
              .seed = 0, .copies = CopyTime::early, .tma = CopyTime::early, .wgmma = CopyTime::early},
          model::Settings{.seed = 1}}) {
      const std::string what = caught(mutant, c, settings);
      if (!what.empty()) return what;
    }
  }
  return "";
}

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, AreCaught) {
  const Mutant& mutant = mutants()[GetParam()];
  const std::string what = caught(mutant);
  if (mutant.mistake == "none") {
    EXPECT_EQ(what, "") << "a false alarm about an exact copy of " << mutant.kernel;
  } else {
    EXPECT_NE(what, "") << mutant.kernel << " with this mistake passes everything: " << mutant.mistake;
    std::cout << mutant.kernel << ", " << mutant.mistake << ": " << what.substr(0, what.find('\n')) << "\n";
  }
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = mutants()[info.param].kernel + "_" + mutants()[info.param].mistake;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Model, Mutants, testing::Range(std::size_t{0}, mutants().size()), test_name);

TEST(MutantsCount, IsAtLeastAHundred) { EXPECT_GE(mutants().size(), 110U); }  // with six exact copies

}  // namespace
}  // namespace flashmoe::test
