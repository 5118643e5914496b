// SPDX-License-Identifier: MIT
// The block's pool of free registers. It begins empty, since the launch has given all registers to threads,
// and a warp that ends keeps its share. A request for more than other warps will ever give up never returns;
// the deadlock's table shows it.
#include "primitives/model/setmaxnreg.h"

#include <utility>

namespace flashmoe::model {
namespace {

void all_lanes(const char* what, const Where& where) {
  meet(
      what, [](void* const*) {}, nullptr, where);
}

}  // namespace

void give_registers(int keep, const Where& where) {
  all_lanes("setmaxnreg_dec", where);
  if (keep > current->registers) {
    report("setmaxnreg_dec: to " + std::to_string(keep) + ", and this thread has only " +
               std::to_string(current->registers),
           where);
  }
  Block& block = *current->block;
  block.free_registers += current->registers - keep;
  current->registers = keep;
  for (Thread* thread : std::exchange(block.waiting_for_registers, {})) wake(*thread);
}

void take_registers(int want, const Where& where) {
  all_lanes("setmaxnreg_inc", where);
  if (want < current->registers) {
    report("setmaxnreg_inc: to " + std::to_string(want) + ", and this thread already has " +
               std::to_string(current->registers),
           where);
  }
  Block& block = *current->block;
  const int missing = want - current->registers;
  while (block.free_registers < missing) {
    block.waiting_for_registers.push_back(current);
    wait("setmaxnreg_inc", where, want);
  }
  block.free_registers -= missing;
  current->registers = want;
}

}  // namespace flashmoe::model
