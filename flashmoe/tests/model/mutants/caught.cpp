// SPDX-License-Identifier: MIT
#include "model/mutants/caught.h"

#include <algorithm>
#include <map>

#include "dispatch/pair_bits.h"
#include "dispatch/row_table.h"
#include "dispatch/run.h"
#include "dispatch/run_backward.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/backward_on_model.h"
#include "kernels/combine_splits/launch.h"
#include "kernels/naive/launch.h"
#include "kernels/naive_backward/launch.h"
#include "kernels/on_model.h"
#include "kernels/prepare_backward/launch.h"
#include "kernels/prepare_lengths/launch.h"
#include "kernels/prepare_pairs/launch.h"
#include "kernels/prepare_runs/launch.h"
#include "model/mutants/ampere_backward_form.h"
#include "model/mutants/hopper_backward_form.h"
#include "model/mutants/hopper_form.h"
#include "model/mutants/mutant_cases.h"

namespace flashmoe::test {
namespace {

OnModel how_to_run(const Form& form, const MutantCase& c, const model::Settings& settings) {
  using dispatch::ForwardKernel;
  OnModel how{.choice = {.kernel = ForwardKernel::small_forward, .num_splits = c.num_splits},
              .settings = settings};
  for (ForwardKernel kernel : {ForwardKernel::naive, ForwardKernel::ampere_forward,
                               ForwardKernel::hopper_forward, ForwardKernel::decode_forward}) {
    if (form.name.starts_with(name_of(kernel))) how.choice.kernel = kernel;
  }
  if (form.prepare != nullptr) how.choice.kernel = ForwardKernel::naive;
  if (form.prepare_rows != nullptr) how.choice.kernel = ForwardKernel::ampere_forward;
  if (form.name == "combine_splits") how.choice.kernel = ForwardKernel::ampere_forward;
  if (c.tuning >= 0) how.choice.tuning = c.tuning;
  if (how.choice.kernel == ForwardKernel::hopper_forward) {
    const int blocks_per_sm = form.name.find("in pairs") == std::string::npos ? 1 : 2;
    how.choice.tuning = hopper_tuning(static_cast<int>(c.shape.head_dim), blocks_per_sm, c.num_splits > 1);
    how.sms = 1;  // one block has all tiles, more than it has slots for
  }
  return how;
}

// Of a shape, whose description does not say which pairs a function shows: forms differ in that.
std::string key_of(const Form& form, const Shape& shape) {
  return describe(shape) + (shape.pairs_shown ? form.name : "");
}

// What the oracle says of a shape: every mutant of a kernel has the same ones.
const reference::ForwardResult& expected_of(const Form& form, const Shape& shape) {
  static std::map<std::string, reference::ForwardResult> known;
  const auto [place, is_new] = known.try_emplace(key_of(form, shape));
  if (is_new) place->second = Problem(shape).oracle();
  return place->second;
}

struct Gradients {
  explicit Gradients(const Shape& shape) : problem(shape), expected(problem.oracle()) {}

  BackwardProblem problem;
  reference::BackwardResult expected;
};

Gradients& gradients_of(const Form& form, const Shape& shape) {
  static std::map<std::string, Gradients> known;
  return known.try_emplace(key_of(form, shape), shape).first->second;
}

dispatch::BackwardChoice backward_choice(const std::string& kernel, const Shape& shape) {
  using dispatch::BackwardKernel;
  if (kernel == "prepare_runs") return {.kernel = BackwardKernel::ampere_backward};
  if (kernel.starts_with("naive_backward") || kernel.starts_with("prepare"))
    return {.kernel = BackwardKernel::naive_backward};
  if (kernel.starts_with("hopper_backward")) return {.kernel = BackwardKernel::hopper_backward};
  if (kernel.ends_with("general") || kernel.ends_with("pairs"))
    return {.kernel = BackwardKernel::ampere_backward};  // one row a head_dim
  const int stages = kernel.ends_with("one stage") ? 1 : 2;
  return {.kernel = BackwardKernel::ampere_backward,
          .tuning = ampere_backward_tuning(static_cast<int>(shape.head_dim), stages)};
}

void take_lists(const ForwardProblem& p, const kernels::prepare_lengths::Params& lengths) {
  lists_at_hand().places = dispatch::places_of(p);
  for (int i = 0; i < lengths.num_lists; ++i) {
    lists_at_hand().tiles[i] = dispatch::sequence_tiles(p, lengths, i);
    lists_at_hand().capacity[i] = lengths.lists[i].capacity;
  }
}

std::string caught_in_gradients(const Form& form, const MutantCase& c, const model::Settings& settings) {
  auto& [problem, expected] = gradients_of(form, c.shape);
  problem.poison_gradients();
  const ForwardProblem& p = problem.forward.problem;
  scores_at_hand() = {dispatch::scores_of(p, problem.forward.args.scores),
                      dispatch::scale_behind(dispatch::backward_change(p).value_or(kernels::Change::none), p),
                      dispatch::pair_scores_of(p, problem.forward.args.scores).pairs, problem.dattn_mask()};
  scores_at_hand().dropout = dispatch::dropout_of(p);
  scores_at_hand().num_first_keys = static_cast<int>(std::min(p.spans.first_keys, p.kv_rows));
  scores_at_hand().sums_pairs = p.pairs.gradients == PairGradients::sums;
  lists_at_hand() = {};
  const auto choice = backward_choice(form.name, c.shape);
  const auto plan = dispatch::plan_backward(p, true, device::find("H200"), c.deterministic, choice);
  const auto prepare = [&](const kernels::prepare_lengths::Params& lengths) {
    form.prepare != nullptr ? form.prepare(lengths) : kernels::prepare_lengths::launch(lengths, nullptr);
    take_lists(p, lengths);
    lists_at_hand().padded = dispatch::padded_sequences(plan, p, lengths);
  };
  const auto prepare_rows = [&](const kernels::prepare_runs::SequenceParams& rows) {
    form.prepare_rows != nullptr ? form.prepare_rows(rows)
                                 : kernels::prepare_runs::launch_sequences(rows, nullptr);
  };
  const auto general = [&](const kernels::BackwardParams& params) {
    const ListsAtHand& lists = lists_at_hand();
    kernels::ampere_backward::launch_general(p.dtype,
                                             {params, scores_at_hand().params, scores_at_hand().dropout,
                                              scores_at_hand().num_first_keys, lists.tiles[0], lists.padded},
                                             plan.tuning, nullptr);
  };
  const auto scalar = [&](const kernels::BackwardParams& params) {
    const ListsAtHand& lists = lists_at_hand();
    kernels::naive_backward::launch_lengths(
        p.dtype, params,
        {scores_at_hand().params, lists.tiles[0], lists.tiles[1], lists.capacity[0], lists.capacity[1]},
        scores_at_hand().dropout, nullptr);
  };
  const auto behind_bits = [&](const kernels::BackwardParams& params) {
    const auto pairs = dispatch::pair_bits_params(p, problem.forward.args.scores, true,
                                                  {params.lse_log2, plan.workspace_bytes});
    kernels::prepare_pairs::launch(pairs, nullptr);
    scores_at_hand().bits = dispatch::pair_bits(pairs);
    form.run_backward(params);
    if (const PairGradient to = problem.dattn_mask(); to.data != nullptr) {  // by another kernel
      kernels::naive_backward::launch_pair_gradient(
          p.dtype, params, dispatch::pair_scores_of(p, problem.forward.args.scores), dispatch::dropout_of(p),
          {to.data, to.strides[0], to.strides[1], to.strides[2], to.strides[3]}, nullptr);
    }
  };
  const auto behind_zeros = [&](const kernels::BackwardParams& params) {
    if (const PairGradient to = problem.dattn_mask(); to.data != nullptr)
      kernels::prepare_backward::launch_clear(
          params, {to.data, to.strides[0], to.strides[1], to.strides[2], to.strides[3]}, nullptr);
    form.run_backward(params);
  };
  try {
    run_backward_on_model(
        problem, c.deterministic, settings,
        form.prepare != nullptr                                                     ? MainKernel(scalar)
        : form.prepare_rows != nullptr                                              ? MainKernel(general)
        : p.attn_mask && choice.kernel == dispatch::BackwardKernel::hopper_backward ? MainKernel(behind_bits)
        : p.attn_mask && choice.kernel == dispatch::BackwardKernel::ampere_backward ? MainKernel(behind_zeros)
                                                                                    : form.run_backward,
        choice, prepare, prepare_rows);
    return problem.disagreement(expected);
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

// What is wrong with one run, or "".
std::string caught(const Form& form, const MutantCase& c, const model::Settings& settings) {
  if (form.run_backward != nullptr) return caught_in_gradients(form, c, settings);
  Problem problem(c.shape);
  const auto run = [&](const dispatch::ForwardPlan& plan, Workspace workspace) {
    const auto params = dispatch::params_for(plan, problem.problem, problem.args, workspace);
    const ForwardProblem& p = problem.problem;
    scores_at_hand() = {
        dispatch::scores_of(p, problem.args.scores),
        dispatch::scale_behind(dispatch::forward_change(p).value_or(kernels::Change::none), p),
        dispatch::pair_scores_of(p, problem.args.scores).pairs,
        {}};
    scores_at_hand().dropout = dispatch::dropout_of(p);
    if (form.name.starts_with("ampere_forward")) {
      scores_at_hand().params = dispatch::general_scores_of(p, problem.args.scores);
      scores_at_hand().scale_log2e = dispatch::general_scale_behind(p);
    }
    lists_at_hand() = {};
    if (p.spans.given() && !p.lengths.given) {
      const auto rows = dispatch::row_table_params(p, problem.args.spans, false, workspace);
      kernels::prepare_runs::launch(rows, nullptr);
      lists_at_hand().table = dispatch::row_table(p, rows);
    }
    if (p.attn_mask &&
        (plan.kernel == dispatch::ForwardKernel::hopper_forward ||
         (plan.kernel == dispatch::ForwardKernel::ampere_forward && dispatch::ampere_takes_bits(p)))) {
      const auto bits =
          dispatch::pair_bits_params(p, problem.args.scores, false,
                                     {workspace.data, workspace.bytes - dispatch::row_table_bytes(p, false)});
      kernels::prepare_pairs::launch(bits, nullptr);
      scores_at_hand().bits = dispatch::pair_bits(bits);
    }
    if (p.lengths.given) {
      const auto lengths = dispatch::length_params_for(plan, p, problem.args, workspace);
      form.prepare != nullptr ? form.prepare(lengths) : kernels::prepare_lengths::launch(lengths, nullptr);
      take_lists(p, lengths);
      if (p.spans.given()) {
        const auto rows = dispatch::sequence_table_params(p, problem.args.spans, lengths, false, workspace);
        form.prepare_rows != nullptr ? form.prepare_rows(rows)
                                     : kernels::prepare_runs::launch_sequences(rows, nullptr);
        lists_at_hand().table = dispatch::row_table(p, rows);
      }
    }
    if (form.prepare_rows != nullptr) {
      kernels::ForwardParams scaled = params;
      scaled.scale_log2e = dispatch::general_scale_behind(p);
      return kernels::ampere_forward::launch_general(
          p.dtype, scaled,
          {dispatch::runs_of(p), lists_at_hand().table, lists_at_hand().tiles[0],
           dispatch::general_scores_of(p, problem.args.scores), dispatch::dropout_of(p)},
          plan.blocks, nullptr);
    }
    if (form.prepare != nullptr) {
      return kernels::naive::launch_lengths(p.dtype, params, lists_at_hand().tiles[0], lists_at_hand().table,
                                            scores_at_hand().params, scores_at_hand().dropout, plan.blocks,
                                            nullptr);
    }
    form.run(params, dispatch::runs_of(problem.problem), plan.aligned, plan.tuning, plan.blocks);
    if (plan.num_splits > 1 && form.name != "combine_splits")
      kernels::combine_splits::launch(c.shape.dtype, params, plan.head_dim, nullptr);
  };
  try {
    run_on_model(problem, how_to_run(form, c, settings), run);
    const std::string wrong = problem.disagreement(expected_of(form, c.shape));
    const bool prepares = form.prepare != nullptr || form.prepare_rows != nullptr;
    return wrong.empty() && prepares ? caught_in_gradients(form, c, settings) : wrong;
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

}  // namespace

std::vector<Run> runs_of(const std::string& form) {
  using model::CopyTime;
  std::vector<Run> runs;
  int number = 0;
  for (const MutantCase& c : cases_for(form)) {
    const std::string name = "case " + std::to_string(number++);
    runs.push_back(
        {name + ", early",
         c,
         {.seed = 0, .copies = CopyTime::early, .tma = CopyTime::early, .wgmma = CopyTime::early}});
    runs.push_back({name + ", seed 1", c, {.seed = 1}});
  }
  return runs;
}

std::string caught(const Form& form, const Run& run) { return caught(form, run.what, run.settings); }

}  // namespace flashmoe::test
