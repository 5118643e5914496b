// SPDX-License-Identifier: MIT
#include "records/correctness.h"

namespace dent::record {

void fields(Fields& f, FirstBad& bad) {
  f("index", bad.index, "output and position: out[0, 3, 17]");
  f("got", bad.got, "what the kernel wrote; nan, inf and -inf are texts");
  f("expected", bad.expected, "what the reference has");
}

void fields(Fields& f, Correctness& correctness) {
  f("shape", correctness.shape, "name of the shape");
  f.may("held_out", correctness.held_out, "whether it is a shape that no proposer has seen");
  f("seeds", correctness.seeds, "how many sets of inputs");
  f("elements", correctness.elements, "that were compared");
  f("bad", correctness.bad, "beyond their bound; NaN is");
  f.may("unchecked", correctness.unchecked, "not drawn for a spot check");
  f.may("unwritten", correctness.unwritten, "still as dent had poisoned them");
  f("max_error", correctness.max_error, "largest |got - expected|");
  f("max_relative_error", correctness.max_relative_error, "largest |got - expected| / (|expected| + 1e-8)");
  f.may("mean_error", correctness.mean_error, "mean of |got - expected|");
  f("bound", correctness.bound, "of the element with the largest share of its bound");
  f.may("share_of_bound", correctness.share_of_bound, "that share");
  f("verdict", correctness.verdict, "pass or fail");
  f("first_bad", correctness.first_bad, "the first element beyond its bound");
}

}  // namespace dent::record
