// SPDX-License-Identifier: MIT
#include "records/correctness.h"

namespace dent::record {

void fields(Fields& f, FirstBad& bad) {
  f("index", bad.index, "output and position: out[0, 3, 17]");
  f("got", bad.got, "value that the kernel wrote; nan, inf and -inf are texts");
  f("expected", bad.expected, "value of the reference");
}

void fields(Fields& f, Correctness& correctness) {
  f("shape", correctness.shape, "name of the shape");
  f.may("held_out", correctness.held_out, "whether no proposer has seen this shape");
  f("seeds", correctness.seeds, "number of sets of inputs");
  f("elements", correctness.elements, "elements that were compared");
  f("bad", correctness.bad, "elements that exceed their bound; NaN does");
  f.may("unchecked", correctness.unchecked, "elements that the spot check did not draw");
  f.may("unwritten", correctness.unwritten, "elements that still held dent's poison");
  f("max_error", correctness.max_error, "largest |got - expected|");
  f("max_relative_error", correctness.max_relative_error, "largest |got - expected| / (|expected| + 1e-8)");
  f.may("mean_error", correctness.mean_error, "mean of |got - expected|");
  f("bound", correctness.bound, "bound of the element with the largest share of its bound");
  f.may("share_of_bound", correctness.share_of_bound, "that element's error divided by its bound");
  f("verdict", correctness.verdict, "pass or fail");
  f("first_bad", correctness.first_bad, "first element that exceeds its bound");
}

}  // namespace dent::record
