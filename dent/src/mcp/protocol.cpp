// SPDX-License-Identifier: MIT
#include "mcp/protocol.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mcp/tools.h"
#include "session/version.h"

namespace dent::mcp {
namespace {

using nlohmann::json;

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr const char* kModern = "2026-07-28";
constexpr const char* kHandshake[] = {"2025-11-25", "2025-06-18"};  // newest first

constexpr const char* kInstructions =
    "dent takes a GPU or CPU kernel through gates and proves whether a change helps. Order: preflight, "
    "check, bench, then "
    "profile or predict to find the one bottleneck, patterns for what mends it, evaluate for one change at a "
    "time. A "
    "verdict comes from dent alone; never claim a speed that it has not measured.";

json server_info() {
  return {{"name", "dent"}, {"title", "dent, the kernel workbench"}, {"version", kDentVersion}};
}
json capabilities() { return {{"tools", json::object()}}; }

json error(int code, const std::string& message) { return {{"code", code}, {"message", message}}; }

}  // namespace

bool is_modern(const json& params) {
  const auto meta = params.find("_meta");
  return meta != params.end() && meta->is_object() && meta->contains(kVersionKey);
}

json refusal_of(const json& params) {
  const json& meta = params["_meta"];
  const json& version = meta[kVersionKey];
  if (!version.is_string()) return error(kInvalidParams, std::string(kVersionKey) + " must be a string");
  if (!meta.contains(kCapabilitiesKey)) {
    return error(kInvalidParams, std::string("_meta has no ") + kCapabilitiesKey);
  }
  if (version == kModern) return {};
  json refused = error(kUnsupportedVersion, "Unsupported protocol version");
  refused["data"] = {{"supported", json::array({kModern})}, {"requested", version}};
  return refused;
}

json initialize_result(const json& params) {
  const auto asked = params.find("protocolVersion");
  const bool known = asked != params.end() &&
                     std::find(std::begin(kHandshake), std::end(kHandshake), *asked) != std::end(kHandshake);
  return {{"protocolVersion", known ? *asked : json(kHandshake[0])},
          {"capabilities", capabilities()},
          {"serverInfo", server_info()},
          {"instructions", kInstructions}};
}

json discover_result() {
  json versions = json::array({kModern});
  for (const char* version : kHandshake) versions.push_back(version);
  return {{"supportedVersions", versions},
          {"capabilities", capabilities()},
          {"instructions", kInstructions},
          {"ttlMs", 0},
          {"cacheScope", "private"}};
}

json tools_result() {
  json list = json::array();
  for (const Tool& tool : tools()) list.push_back(tool.description);
  return {{"tools", std::move(list)}, {"ttlMs", 0}, {"cacheScope", "private"}};
}

void make_modern(json& result) {
  result["resultType"] = "complete";
  result["_meta"][kServerKey] = server_info();
}

}  // namespace dent::mcp
