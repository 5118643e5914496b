// SPDX-License-Identifier: MIT
#include "dent_bench.h"

#include <cstdio>
#include <exception>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string_view bench = argc > 1 ? argv[1] : "";
  if (bench == "aa") return dent::bench::aa(argc, argv);
  if (bench == "loaded") return dent::bench::loaded(argc, argv);
  if (bench == "search") return dent::bench::search(argc, argv);
  std::fputs("dent_bench aa | dent_bench loaded | dent_bench search\n", stderr);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "dent_bench: %s\n", error.what());
  return 2;
}
