// SPDX-License-Identifier: MIT
// Test support for the model itself: runs small kernels that keep or break one rule each.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "primitives/launch.h"
#include "primitives/model/settings.h"

namespace flashmoe::test {

// The model's report about a kernel; "" if it ran to its end.
template <class... Parameters>
std::string said(void (*kernel)(Parameters...), const gpu::LaunchShape& shape,
                 const model::Settings& settings, std::type_identity_t<Parameters>... arguments) {
  model::settings() = settings;
  try {
    gpu::launch(kernel, shape, arguments...);
    return "";
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << part << "\" is not in: \"" << text << '"';
}

}  // namespace flashmoe::test
