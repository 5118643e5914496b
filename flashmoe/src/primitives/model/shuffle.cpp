// SPDX-License-Identifier: MIT
#include "primitives/model/shuffle.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

struct Exchange {
  float value;
  int lane;  // lane whose value to take; only its low five bits count
  float result;
};

void exchange(void* const* lanes) {
  for (int l = 0; l < 32; ++l) {
    auto& mine = *static_cast<Exchange*>(lanes[l]);
    mine.result = static_cast<Exchange*>(lanes[mine.lane & 31])->value;
  }
}

}  // namespace

float shuffle_xor(float value, int lane_mask, const model::Where& where) {
  Exchange mine{value, model::current->lane ^ lane_mask, 0};
  model::meet("shuffle_xor", &exchange, &mine, where);
  return mine.result;
}

float shuffle(float value, int lane, const model::Where& where) {
  Exchange mine{value, lane, 0};
  model::meet("shuffle", &exchange, &mine, where);
  return mine.result;
}

bool any_lane(bool predicate, const model::Where& where) {
  bool mine = predicate;
  model::meet(
      "any_lane",
      [](void* const* lanes) {
        bool any = false;
        for (int l = 0; l < 32; ++l) any = any || *static_cast<bool*>(lanes[l]);
        for (int l = 0; l < 32; ++l) *static_cast<bool*>(lanes[l]) = any;
      },
      &mine, where);
  return mine;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
