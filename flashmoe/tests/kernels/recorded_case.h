// SPDX-License-Identifier: MIT
// Cases whose inputs and results are kept in a file: computed on the model in one place, on a GPU in another,
// and compared there.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "dispatch/plan.h"
#include "support/problem.h"

namespace flashmoe::test {

struct RecordedCase {
  Shape shape;
  dispatch::ForwardChoice choice;
};

// Every kernel in all its forms, in small. Dense tensors only.
const std::vector<RecordedCase>& recorded_cases();
std::string describe(const RecordedCase& c);

// What a file holds of one case; bytes as they lie in memory.
struct Recording {
  std::string name;  // describe(case)
  std::vector<char> q, k, v, out, lse;
};

void write(std::ostream& file, const Recording& recording);
bool read(std::istream& file, Recording& recording);  // false at the end; throws when the file is cut short

// The bytes of a dense tensor.
std::size_t bytes_of(const Tensor& tensor);

}  // namespace flashmoe::test
