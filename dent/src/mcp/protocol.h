// SPDX-License-Identifier: MIT
// Which revision of the protocol a request speaks, and what an answer looks like in it.
//
// From 2026-07-28 on there is no handshake: each request says its revision in _meta, and server/discover
// tells what there is. Before, a client says `initialize` once. Both are served, also side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dent::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kUnsupportedVersion = -32022;

// Whether a request carries its revision itself.
bool is_modern(const nlohmann::json& params);
// Why a request that does can't be served.
nlohmann::json refusal_of(const nlohmann::json& params);  // a JSON-RPC error object; null: none

nlohmann::json initialize_result(const nlohmann::json& params);
nlohmann::json discover_result();
nlohmann::json tools_result();

// Adds what a modern result must have.
void make_modern(nlohmann::json& result);

}  // namespace dent::mcp
