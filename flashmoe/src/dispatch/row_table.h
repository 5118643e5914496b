// SPDX-License-Identifier: MIT
// Where a call with spans keeps what its rows see: at the end of its workspace, behind everything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "kernels/prepare_lengths/params.h"
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

// The same of a problem with lengths, whose other tables lie before this one.
kernels::prepare_runs::SequenceParams sequence_table_params(const ForwardProblem& problem, const Spans& spans,
                                                            const kernels::prepare_lengths::Params& lengths,
                                                            bool backward, Workspace workspace);
kernels::RowTable row_table(const ForwardProblem& problem,
                            const kernels::prepare_runs::SequenceParams& params);

}  // namespace flashmoe::dispatch
