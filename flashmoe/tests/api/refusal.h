// SPDX-License-Identifier: MIT
// An error that is expected: whether it came, and what it said.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flashmoe/error.h"

namespace flashmoe::test {

struct Refusal {
  bool refused = false;
  ErrorCode code{};
  std::string message;
};

template <class Call>
Refusal refusal_of(Call call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    return {true, error.code(), error.what()};
  }
}

inline void expect_says(const Refusal& refusal, ErrorCode code, const std::vector<std::string>& says,
                        const std::string& name) {
  ASSERT_TRUE(refusal.refused) << name << " was accepted";
  EXPECT_EQ(refusal.code, code) << name;
  for (const std::string& part : says) {
    EXPECT_NE(refusal.message.find(part), std::string::npos) << name << ": no '" << part << "' in\n"
                                                             << refusal.message;
  }
  EXPECT_NE(refusal.message.find("\n   at: flashmoe/src/"), std::string::npos) << name << ":\n"
                                                                               << refusal.message;
}

}  // namespace flashmoe::test
