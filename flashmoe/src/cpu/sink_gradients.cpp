// SPDX-License-Identifier: MIT
#include "cpu/sink_gradients.h"

#include <cmath>
#include <limits>

#include "cpu/origin.h"
#include "cpu/run_tasks.h"
#include "cpu/store_row.h"
#include "cpu/usable_cores.h"
#include "numeric/half.h"
#include "numeric/lse_log2.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {
namespace {

template <class T>
float dot(const T* x, const T* y, int64_t dim) {
  constexpr int64_t kSums = 8;  // side by side, so that none waits for another
  float sums[kSums] = {};
  for (int64_t d = 0; d < dim; ++d) sums[d % kSums] += to_float(x[d]) * to_float(y[d]);
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

// What some rows of a head add: -p (dout . out - dlse), where p is the sink's weight.
template <class T>
double gradient(const BackwardArgs& args, int64_t head, const BatchRows& part) {
  const float sink_log2 = args.scores.sinks[head] * kLog2E;
  double sum = 0;
  for (int64_t row = part.rows.begin; row < part.rows.end; ++row) {
    const int64_t at = (part.batch * args.q.sizes[1] + head) * args.q.sizes[2] + row;
    const float lse = lse_log2(args.lse[at]);
    if (lse == std::numeric_limits<float>::infinity()) continue;  // such rows weigh nothing
    const float delta =
        dot(static_cast<const T*>(element(args.dout, part.batch, head, row)),
            static_cast<const T*>(element(args.out, part.batch, head, row)), args.q.sizes[3]) -
        (args.dlse == nullptr ? 0.0F : args.dlse[at]);
    sum -= std::exp2(sink_log2 - lse) * delta;
  }
  return sum;
}

double gradient_of(const BackwardArgs& args, int64_t head, const BatchRows& part) {
  switch (args.q.dtype) {
    case DType::fp32:
      return gradient<float>(args, head, part);
    case DType::fp16:
      return gradient<fp16>(args, head, part);
    case DType::bf16:
      return gradient<bf16>(args, head, part);
  }
  return 0;
}

}  // namespace

void differentiate_sinks(const ForwardProblem& p, const BackwardArgs& args) {
  if (args.dsinks == nullptr) return;
  const auto rows = static_cast<double>(p.batch * p.q_heads * p.q_rows);
  constexpr double kElementsPerUs = 1000;
  run_tasks(p.q_heads, threads_for(args.execution.threads),
            rows * static_cast<double>(p.head_dim) / kElementsPerUs, [&](int64_t head, int) {
              double sum = 0;
              if (args.lengths.given()) {
                const Sequences sequences(args.lengths, p);
                for (int64_t i = 0; i < sequences.count(); ++i)
                  sum += gradient_of(args, head, sequences[i].q);
              } else {
                for (int64_t b = 0; b < p.batch; ++b) sum += gradient_of(args, head, {b, {0, p.q_rows}});
              }
              args.dsinks[head] = static_cast<float>(sum);
            });
}

}  // namespace flashmoe::cpu
