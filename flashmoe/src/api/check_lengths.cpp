// SPDX-License-Identifier: MIT
#include "api/check_lengths.h"

#include <limits>
#include <string>

namespace flashmoe {
namespace {

// q's half of the lengths, or k's.
struct Side {
  NamedTensor tensor;
  const char* starts_name;
  const int32_t* starts;
  const char* used_name;
  const int32_t* used;
};

std::string element(const char* name, const int32_t* values, int64_t i) {
  return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(values[i]);
}

void check_batch(const TensorChecks& checks, const Side& side, int64_t sequences) {
  const int64_t batch = side.tensor.tensor.sizes[0];
  if (batch == (side.starts != nullptr ? 1 : sequences)) return;
  checks.refuse(std::string(side.tensor.name) + " has batch = " + std::to_string(batch) + "; " +
                (side.starts != nullptr
                     ? std::string("with ") + side.starts_name + " it must be 1"
                     : "it must be lengths.sequences, which is " + std::to_string(sequences)));
}

void check_starts(const TensorChecks& checks, const Side& side, int64_t sequences) {
  const int64_t rows = side.tensor.tensor.sizes[2];
  if (side.starts[0] < 0) checks.refuse(element(side.starts_name, side.starts, 0) + "; it must be 0 or more");
  for (int64_t i = 1; i <= sequences; ++i) {
    if (side.starts[i - 1] <= side.starts[i]) continue;
    checks.refuse(element(side.starts_name, side.starts, i) + ", less than " +
                  std::to_string(side.starts[i - 1]) + " before it; starts must never fall");
  }
  if (side.starts[sequences] > rows) {
    checks.refuse(element(side.starts_name, side.starts, sequences) + ", past the " + std::to_string(rows) +
                  " rows of " + side.tensor.name);
  }
}

void check_used(const TensorChecks& checks, const Side& side, int64_t sequences) {
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t rows =
        side.starts != nullptr ? side.starts[i + 1] - side.starts[i] : side.tensor.tensor.sizes[2];
    if (side.used[i] >= 0 && side.used[i] <= rows) continue;
    checks.refuse(element(side.used_name, side.used, i) + "; accepted are 0 to " + std::to_string(rows) +
                  ", the rows of its sequence");
  }
}

}  // namespace

void check_lengths(const TensorChecks& checks, const Lengths& lengths, const Tensor& q, const Tensor& k,
                   const Execution& execution) {
  const int64_t sequences = lengths.sequences;
  if (sequences < 0 || sequences > std::numeric_limits<int32_t>::max()) {
    checks.refuse("lengths.sequences is " + std::to_string(sequences) + "; accepted are 0 to 2147483647");
  }
  if (lengths.longest_q < 0 || lengths.longest_k < 0) {
    checks.refuse("lengths.longest_q and longest_k are " + std::to_string(lengths.longest_q) + " and " +
                  std::to_string(lengths.longest_k) + "; accepted are 0 (not known) and above");
  }
  const Side sides[] = {{{"q", q}, "lengths.q_starts", lengths.q_starts, "lengths.q_used", lengths.q_used},
                        {{"k", k}, "lengths.k_starts", lengths.k_starts, "lengths.k_used", lengths.k_used}};
  for (const Side& side : sides) {
    check_batch(checks, side, sequences);
    checks.pointer(side.starts_name, side.starts);
    checks.pointer(side.used_name, side.used);
  }
  if (execution.device != Device::cpu) return;  // the host does not read what lies there
  for (const Side& side : sides) {
    if (side.starts != nullptr) check_starts(checks, side, sequences);
    if (side.used != nullptr) check_used(checks, side, sequences);
  }
}

LengthsBytes::LengthsBytes(const Lengths& lengths)
    : q_starts(NamedBytes::of("lengths.q_starts", lengths.q_starts, lengths.sequences + 1)),
      k_starts(NamedBytes::of("lengths.k_starts", lengths.k_starts, lengths.sequences + 1)),
      q_used(NamedBytes::of("lengths.q_used", lengths.q_used, lengths.sequences)),
      k_used(NamedBytes::of("lengths.k_used", lengths.k_used, lengths.sequences)) {}

}  // namespace flashmoe
