// SPDX-License-Identifier: MIT
#include "gates/baseline/book.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {

void Fastest::add_start(double fastest_ns) {
  const double slowest = std::max(fastest_ns, ns * (1 + spread));
  ns = ns > 0 ? std::min(ns, fastest_ns) : fastest_ns;
  spread = slowest / ns - 1;
}

Reproduced reproduced(const Fastest& before, const Fastest& now, double within) {
  const double allowed = 1 + within + before.spread + now.spread;
  if (!(now.ns <= before.ns * allowed)) return Reproduced::slower;
  return now.ns * allowed < before.ns ? Reproduced::faster : Reproduced::yes;
}

void fields(Fields& f, Fastest& fastest) {
  f("ns", fastest.ns, "time of a call in the fastest batch");
  f("spread", fastest.spread, "share by which other starts took longer");
}

void fields(Fields& f, Book& book) {
  f("baselines", book.baselines, "times by shape, for each machine, baseline and versions");
}

Book read_book(const std::filesystem::path& file) {
  try {
    return from_json_text<Book>(text_of(file));
  } catch (const Error&) {  // no file yet, or one from an older dent without spreads: record anew
    return {};
  }
}

void write_book(const std::filesystem::path& file, Book book) {
  write_durably(file, to_json_text(book) + "\n");
}

}  // namespace dent
