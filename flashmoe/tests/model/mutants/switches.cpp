// SPDX-License-Identifier: MIT
#include "model/mutants/switches.h"

#include <array>

namespace flashmoe::test {
namespace {

int switched = 0;
std::array<bool, 4096> reached{};  // by a statement's number

}  // namespace

bool is_on(int mistake) { return mistake == switched; }

bool is_left_out(int statement) {
  reached[static_cast<std::size_t>(statement)] = true;
  return statement == switched;
}

std::set<int> reached_statements() {
  std::set<int> numbers;
  for (std::size_t i = 0; i < reached.size(); ++i)
    if (reached[i]) numbers.insert(static_cast<int>(i));
  return numbers;
}

void forget_reached_statements() { reached.fill(false); }

Switched::Switched(int number) { switched = number; }
Switched::~Switched() { switched = 0; }

}  // namespace flashmoe::test
