// SPDX-License-Identifier: MIT
// What a client may send without ending the server: it answers, and serves what comes next. A client that
// keeps to the protocol is in client_test.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "ledger/in_child.h"
#include "mcp/protocol.h"

namespace dent::server_test {
namespace {

using nlohmann::json;

const std::string kPing = R"({"jsonrpc": "2.0", "id": "the last", "method": "ping"})";

// All answers of a server that gets these lines, and a ping behind them.
std::vector<json> answers_to(const std::string& lines) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "in") << lines << "\n" << kPing << "\n";
  const std::string command = std::string(DENT_PROGRAM) + " mcp -p '" + folder.path().string() + "' <'" +
                              (folder / "in").string() + "' >'" + (folder / "out").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<json> answers;
  std::istringstream out(text_of(folder / "out"));
  for (std::string line; std::getline(out, line);) answers.push_back(json::parse(line));
  return answers;
}

void expect_error_then_pong(const std::string& line, int code) {
  const auto answers = answers_to(line);
  ASSERT_EQ(answers.size(), 2u) << line.substr(0, 80);
  EXPECT_EQ(answers[0].at("error").at("code"), code) << answers[0].dump();
  EXPECT_EQ(answers[1].at("id"), "the last");
}

std::string nested(std::size_t depth, char open, char close, const std::string& inside) {
  return std::string(depth, open) + inside + std::string(depth, close);
}

TEST(McpServer, SurvivesWhatIsNestedTooDeep) {
  for (const std::size_t depth : {std::size_t{65}, std::size_t{1000}, std::size_t{1000000}}) {
    expect_error_then_pong(nested(depth, '[', ']', ""), mcp::kParseError);
    expect_error_then_pong(std::string(depth, '['), mcp::kParseError);
    expect_error_then_pong(
        R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": )" + nested(depth, '[', ']', "") + "}",
        mcp::kParseError);
  }
}

TEST(McpServer, SurvivesWhatIsNoRequest) {
  for (const char* line : {"[]", "null", "3", R"({"jsonrpc": 2.0, "id": 1, "method": "ping"})",
                           R"({"jsonrpc": "2.0", "id": 1, "method": ["ping"]})",
                           R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]})",
                           R"({"jsonrpc": "2.0", "id": [1], "method": "ping"})"}) {
    expect_error_then_pong(line, mcp::kInvalidRequest);
  }
}

TEST(McpServer, SurvivesArgumentsOfAnotherType) {
  const auto answers = answers_to(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": {"a": 1}}})"
      "\n"
      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": [1]}})"
      "\n"
      R"({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 3}})"
      "\n"
      R"({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "cost", "_meta": 5, "arguments": [1]}})");
  ASSERT_FALSE(answers.empty());
  bool pong = false;
  for (const json& answer : answers) {
    pong = pong || answer.at("id") == "the last";
    if (answer.at("id") == 2) {
      EXPECT_EQ(answer.at("error").at("code"), mcp::kInvalidParams);
    }
  }
  EXPECT_TRUE(pong);
}

}  // namespace
}  // namespace dent::server_test
