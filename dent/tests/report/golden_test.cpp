// SPDX-License-Identifier: MIT
// Ledgers that the first version of dent wrote (schema 1), each with its report.json: today's reader must
// give the same report.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "ledger/ledger.h"
#include "records/json.h"
#include "report/document.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/session_view.h"

namespace dent::golden_test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The first difference of `now` from `then`, or "". Added keys are allowed, and sums may be added in another
// order.
std::string difference(const json& then, const json& now, const std::string& where) {
  if (then.is_object()) {
    if (!now.is_object()) return where + " is no object";
    for (const auto& [key, value] : then.items()) {
      const std::string inside = where + "." + key;
      if (!now.contains(key)) return inside + " is missing";
      if (std::string found = difference(value, now.at(key), inside); !found.empty()) return found;
    }
    return {};
  }
  if (then.is_array()) {
    if (!now.is_array() || now.size() != then.size()) return where + " has another length";
    for (std::size_t i = 0; i < then.size(); ++i) {
      std::string found = difference(then[i], now[i], where + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
    return {};
  }
  const bool same = then.is_number() && now.is_number() ? std::abs(then.get<double>() - now.get<double>()) <=
                                                              1e-12 * std::abs(then.get<double>())
                                                        : then == now;
  return same ? "" : where + ": " + now.dump() + " instead of " + then.dump();
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  static fs::path file(const std::string& ending) { return fs::path(DENT_GOLDEN) / (GetParam() + ending); }

  json then = require_json(text_of(file(".report.json")));
  SessionView view = view_session(then.at("id").get<std::string>(), read_ledger(file(".jsonl")).records);
  json now = require_json(json_report(view, {}).text());
};

TEST_P(Golden, TellsTheSameStory) {
  for (const char* part :
       {"verdict", "reason",   "next",      "exit_code",   "elapsed_s",   "own_s",  "started",
        "ratio",   "gates",    "cost",      "comparisons", "correctness", "checks", "cheats",
        "build",   "roofline", "diagnoses", "climb",       "environment", "notes"}) {
    EXPECT_EQ(then.contains(part), now.contains(part)) << part;
    if (!then.contains(part) || !now.contains(part)) continue;
    EXPECT_EQ(difference(then.at(part), now.at(part), part), "");
  }
}

TEST_P(Golden, HasItsPages) {
  const std::string verdict = then.at("verdict");
  EXPECT_NE(html_report(view, {}).find(">" + verdict + "<"), std::string::npos);
  EXPECT_NE(markdown_report(view, {}).find(": " + verdict + "\n"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Ledgers, Golden,
                         testing::Values("run", "slower", "wrong", "build_failed", "cheat", "crash",
                                         "profile", "interrupted", "optimize", "evaluate", "spent"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace dent::golden_test
