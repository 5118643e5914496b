// SPDX-License-Identifier: MIT
// write_example <folder>: a project with sessions that end in every way, and their reports; prints the pages'
// paths.
#include <iostream>

#include "report/example_session.h"
#include "report/write_reports.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using dent::testing::Story;
  dent::SessionStore store(argv[1]);
  for (auto story : {Story::interrupted, Story::incorrect, Story::cheating, Story::faster}) {
    std::cout << dent::write_reports(store, dent::testing::example_session(store, story)).html.string()
              << '\n';
  }
}
