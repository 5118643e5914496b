// SPDX-License-Identifier: MIT
// Where a call with spans keeps what its rows see: at the end of its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "kernels/prepare_runs/params.h"
#include "kernels/row_table.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

// Bytes for the table of a problem; 0 without spans.
std::size_t row_table_bytes(const ForwardProblem& problem, bool backward);

// A workspace of `bytes` and the table behind it.
std::size_t with_row_table(std::size_t bytes, const ForwardProblem& problem, bool backward);

// What prepare_runs is told, with the table at the end of the workspace; and what others are.
kernels::prepare_runs::Params row_table_params(const ForwardProblem& problem, const Spans& spans,
                                               bool backward, Workspace workspace);
kernels::RowTable row_table(const ForwardProblem& problem, const kernels::prepare_runs::Params& params);

}  // namespace flashmoe::dispatch
