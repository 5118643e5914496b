// SPDX-License-Identifier: MIT
#include "mcp/server.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "mcp/call.h"
#include "mcp/protocol.h"
#include "mcp/wire.h"
#include "records/json.h"

namespace dent::mcp {
namespace {

using nlohmann::json;

class Server {
 public:
  Server(std::filesystem::path program, std::filesystem::path root)
      : program_(std::move(program)), seen_(std::move(root)) {}

  void serve() {
    while (auto line = wire_.receive()) {
      const bool blank = !line->empty() && line->find_first_not_of(" \t\r") == std::string::npos;
      if (!blank) take(parse_json(*line));
      tidy();
    }
    for (auto& [id, running] : running_) running->call.cancel("the client has closed the connection");
    for (auto& [id, running] : running_) running->thread.join();
  }

 private:
  struct Running {
    Running(const Tool& tool, json arguments, Server& server)
        : call(tool, std::move(arguments), server.program_, server.seen_, server.machine_) {}
    Call call;
    std::thread thread{};
    std::atomic<bool> over = false;
  };

  // "" where there is none, or something else than a text.
  static std::string text_in(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  }
  static json id_of(const json& message) {
    return message.is_object() && message.contains("id") ? message["id"] : json();
  }

  void take(const json& message) {
    if (message.is_discarded()) {
      return fail(nullptr, kParseError,
                  fmt::format("not JSON, nested more than {} deep, or longer than {} MiB", kDeepestJson,
                              kLongestJson >> 20));
    }
    const bool is_object = message.is_object();
    const std::string method = is_object ? text_in(message, "method") : "";
    if (!method.empty() && text_in(message, "jsonrpc") == "2.0") return receive(message, method);
    if (is_object && (message.contains("result") || message.contains("error")))
      return;  // we asked for nothing
    fail(id_of(message), kInvalidRequest, "no request of JSON-RPC 2.0; batches are not taken");
  }

  void receive(const json& message, const std::string& method) {
    const json params = message.value("params", json::object());
    if (!params.is_object()) return fail(id_of(message), kInvalidRequest, "params must be an object");
    if (!message.contains("id")) return notified(method, params);
    const json& id = message["id"];
    if (!id.is_string() && !id.is_number_integer()) {
      return fail(nullptr, kInvalidRequest, "an id is a string or a whole number");
    }
    const bool modern = is_modern(params);
    if (modern) {
      if (const json refusal = refusal_of(params); !refusal.is_null()) return fail(id, refusal);
    } else if (method == "initialize") {
      initialized_ = true;
      return reply(id, initialize_result(params), false);
    } else if (method == "ping") {
      return reply(id, json::object(), false);
    } else if (!initialized_) {
      return fail(id, kInvalidParams, "say the protocol's revision in params._meta, or initialize first");
    }
    if (method == "server/discover" && modern) return reply(id, discover_result(), true);
    if (method == "tools/list") {
      if (params.contains("cursor"))
        return fail(id, kInvalidParams, "there is one page; no cursor was given out");
      return reply(id, tools_result(), modern);
    }
    if (method == "tools/call") return call(id, params, modern);
    fail(id, kMethodNotFound, "no method " + method);
  }

  void notified(const std::string& method, const json& params) {
    if (method != "notifications/cancelled" || !params.contains("requestId")) return;
    const auto found = running_.find(params["requestId"].dump());
    if (found != running_.end()) found->second->call.cancel(text_in(params, "reason"));
  }

  void call(const json& id, const json& params, bool modern) {
    const auto name = params.find("name");
    const Tool* tool = name != params.end() && name->is_string() ? find_tool(*name) : nullptr;
    if (tool == nullptr) {
      return fail(id, kInvalidParams, "no tool " + (name != params.end() ? name->dump() : "was named"));
    }
    if (running_.contains(id.dump())) return fail(id, kInvalidRequest, "id " + id.dump() + " is in use");
    const json arguments = params.value("arguments", json::object());
    const json meta = params.value("_meta", json::object());
    const json token = meta.is_object() && meta.contains("progressToken") ? meta["progressToken"] : json();
    auto& running = running_[id.dump()] = std::make_unique<Running>(*tool, arguments, *this);
    running->thread = std::thread([this, id, modern, token, now = running.get()] {
      json result = now->call.run(
          [&](double done, double of, const std::string& doing) { tell(token, done, of, doing); });
      if (!result.is_null()) reply(id, std::move(result), modern);  // a cancelled call gets no answer
      now->over = true;
    });
  }

  void tell(const json& token, double done, double of, const std::string& doing) {
    if (token.is_null()) return;
    json params{{"progressToken", token}, {"progress", done}, {"message", doing}};
    if (of > 0) params["total"] = of;
    wire_.send({{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", std::move(params)}});
  }

  // Threads whose call is over.
  void tidy() {
    for (auto it = running_.begin(); it != running_.end();) {
      if (!it->second->over) {
        ++it;
        continue;
      }
      it->second->thread.join();
      it = running_.erase(it);
    }
  }

  void reply(const json& id, json result, bool modern) {
    if (modern) make_modern(result);
    wire_.send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  }
  void fail(const json& id, const json& error) {
    wire_.send({{"jsonrpc", "2.0"}, {"id", id}, {"error", error}});
  }
  void fail(const json& id, int code, const std::string& message) {
    fail(id, {{"code", code}, {"message", message}});
  }

  std::filesystem::path program_;
  const Seen seen_;
  Wire wire_;
  bool initialized_ = false;
  std::mutex machine_;
  std::map<std::string, std::unique_ptr<Running>> running_;  // by id, as JSON
};

}  // namespace

void serve(const std::filesystem::path& program, const std::filesystem::path& root) {
  Server(program, root).serve();
}

}  // namespace dent::mcp
