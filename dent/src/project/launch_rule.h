// SPDX-License-Identifier: MIT
// How a CUDA kernel is launched, as far as the manifest says: enough to foresee what it will do on a GPU
// before anything runs. Every text is an expression over the sizes of a shape.
#pragma once

#include <string>

namespace dent {

struct LaunchRule {
  std::string grid;          // "ceil(S/64), B*H": up to three
  std::string block;         // threads: "256"
  std::string smem;          // bytes of dynamic shared memory; empty: none
  std::string cluster;       // CTAs of a cluster; empty: 1
  std::string exps;          // exponentials of a call, for the floor; empty: none
  std::string kernel;        // a part of the kernel's name, where a source has several
  std::string gpu;           // as dent devices names it; empty: the one in this machine
  bool by_flashmoe = false;  // flashmoe's own dispatch chooses the launch

  bool is_given() const { return by_flashmoe || !grid.empty(); }
};

}  // namespace dent
