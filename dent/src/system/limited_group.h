// SPDX-License-Identifier: MIT
// Processes that the system limits together, whatever they start and wherever they put it.
#pragma once

#include <vector>

namespace dent {

class LimitedGroup {
 public:
  virtual ~LimitedGroup() = default;
  virtual const std::vector<int>& doors() const = 0;  // descriptors: who writes "0" there, is in
  virtual bool ran_out_of_memory() const = 0;         // whether the system ended one of them for that
};

}  // namespace dent
