// SPDX-License-Identifier: MIT
// Kernels with one mistake each, made from the real sources by generate.py.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "kernels/backward_params.h"
#include "kernels/bias_map.h"
#include "kernels/forward_params.h"
#include "kernels/kept_pairs.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_bits.h"
#include "kernels/pair_params.h"
#include "kernels/prepare_lengths/params.h"
#include "kernels/prepare_runs/params.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"

namespace flashmoe::test {

// A form in which a kernel's copy was compiled.
struct Form {
  std::string name;  // begins with the kernel's
  // Runs it on the model; `tuning` is the plan's. One of the four is there.
  void (*run)(const kernels::ForwardParams& params, const kernels::Runs& runs, bool aligned, int tuning,
              unsigned blocks) = nullptr;
  void (*run_backward)(const kernels::BackwardParams& params) = nullptr;
  // Prepares both if sequences differ in length, and what their rows see.
  void (*prepare)(const kernels::prepare_lengths::Params& params) = nullptr;
  void (*prepare_rows)(const kernels::prepare_runs::SequenceParams& params) = nullptr;
};

struct Mutant {
  Form form;
  std::string mistake;  // "none": the kernel as it is
  int number = 0;       // its switch
};

// A statement that orders what threads do, and that can be left out.
struct Statement {
  std::string file;
  int line = 0;
  std::string text;
  int number = 0;  // its switch
};

// What there is of one kernel.
struct KernelMutants {
  std::string kernel;
  std::vector<Form> line_by_line;  // forms whose statements are left out one by one
  std::vector<Mutant> mutants;     // exact copies among them
  std::vector<Statement> statements;
};

// By their names.
std::vector<KernelMutants> all_mutants();

// What generate.py writes: forms, and of each kernel a list.
struct Registration {
  Registration(const std::string& name, const char* form, decltype(Form::run) run);
  Registration(const std::string& name, const char* form, decltype(Form::run_backward) run);
  Registration(const std::string& name, const char* form, decltype(Form::prepare) run);
  Registration(const std::string& name, const char* form, decltype(Form::prepare_rows) run);
};

struct Listed {
  struct Row {
    const char* form;
    int number;
    const char* mistake;
  };
  Listed(const char* kernel, std::vector<Row> rows, std::vector<Statement> statements);
};

// How the scores of the case at hand change, for forms that do that, and the scale of what follows.
struct ScoresAtHand {
  kernels::ScoreParams params{};
  float scale_log2e = 0;
  kernels::PairParams pairs{};
  PairGradient dattn_mask{};
  kernels::PairBits bits{};  // of pairs, for forms that take them
  PairDropout dropout{};
  int num_first_keys = 0;
  bool sums_pairs = false;  // elements of dattn_mask are sums
};
inline ScoresAtHand& scores_at_hand() {
  static ScoresAtHand scores;
  return scores;
}

// What TMA knows of the tensor that the case at hand adds, for forms that do that.
inline gpu::TensorMap bias_map_at_hand(bool adds_bias, int64_t batch, int64_t heads) {
  return adds_bias ? kernels::bias_map(scores_at_hand().pairs, batch, heads) : gpu::TensorMap{};
}

// The lists of its tiles, for forms that take lengths: of query rows, and for gradients of keys; and what its
// rows see, for forms that take spans.
struct ListsAtHand {
  kernels::SequenceTiles tiles[2];
  int capacity[2] = {};
  kernels::Places places{};
  kernels::PaddedSequences padded{};  // of tensor-core kernels, for gradients
  kernels::RowTable table{};
};
inline ListsAtHand& lists_at_hand() {
  static ListsAtHand lists;
  return lists;
}

// As a form wants them.
template <class Scores>
Scores scores_for();

template <class Plain>
void take_scores(kernels::WithPairDropout<Plain>& to) {
  to = {scores_for<Plain>(), scores_at_hand().dropout};
}

template <class Scores>
Scores scores_for() {
  const ListsAtHand& lists = lists_at_hand();
  if constexpr (requires { &Scores::dropout; }) {
    Scores scores;
    take_scores(scores);
    return scores;
  } else if constexpr (std::is_same_v<Scores, kernels::ScoreParams>) {
    return scores_at_hand().params;
  } else if constexpr (std::is_same_v<Scores, kernels::PairScoreParams>) {
    return {scores_at_hand().params, scores_at_hand().pairs};
  } else if constexpr (requires { &Scores::tiles; }) {
    return {scores_at_hand().params, lists.tiles[0]};
  } else if constexpr (requires { &Scores::q_tiles; }) {
    return {scores_at_hand().params, lists.tiles[0], lists.tiles[1], lists.capacity[0], lists.capacity[1]};
  } else {
    return {};
  }
}

}  // namespace flashmoe::test
