// SPDX-License-Identifier: MIT
#pragma once

namespace flashmoe::kernels::hopper_backward {

// A tile of keys, and the query tiles that see some of them: the same in each head of the group, walked from
// the first to the last, head by head.
struct Work {
  int batch, kv_head;
  int first_key;
  int begin, end;  // query tiles of a head
  int unmasked;    // from this one on, every row sees every key; the tail of K has none
  int full_end;    // by rows, by bits, and with lengths: and from this one on no more
  int steps;       // of all heads
  int row_block;   // Spec::persistent: where the first step's rows lie in workspace, in units of 64

  // Visible::lengths: `batch` is the sequence's place in q. Its rows count from the first tile's first, which
  // may stand before them, and keys below 0 are none.
  int k_place;
  int k_rows;
  int rows_before;   // how many of them
  int first_padded;  // of its rows in workspace
  int causal_shift;  // row i sees no key behind i + causal_shift
  int more_rows;     // that see a key, behind the first that does
};
inline constexpr int kNoWork = -1;  // steps: there is no tile under this number

}  // namespace flashmoe::kernels::hopper_backward
