// SPDX-License-Identifier: MIT
// A group of processes under common resource limits, including everything they start (a cgroup).
#pragma once

#include <vector>

namespace dent {

class LimitedGroup {
 public:
  virtual ~LimitedGroup() = default;
  virtual const std::vector<int>& doors() const = 0;  // descriptors: writing "0" to each joins the group
  virtual bool ran_out_of_memory() const = 0;         // whether the system killed a member for lack of memory
};

}  // namespace dent
