// SPDX-License-Identifier: MIT
#include "workers/serve.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "records/json_text.h"

namespace dent {
namespace {

using nlohmann::json;

// One line from the requests; false at their end.
bool read_line(std::string& unread, std::string& line) {
  for (;;) {
    if (const auto end = unread.find('\n'); end != std::string::npos) {
      line = unread.substr(0, end);
      unread.erase(0, end + 1);
      return true;
    }
    char buffer[65536];
    const ssize_t n = ::read(protocol::kRequests, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) unread.append(buffer, static_cast<std::size_t>(n));
  }
}

bool write_line(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::write(protocol::kReplies, text.data() + sent, text.size() - sent);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  return true;
}

void* map(int descriptor, std::size_t bytes, int protection) {
  void* memory = mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    throw std::runtime_error("can't map the shared memory; was dent-worker started by dent?");
  return memory;
}

json answer(Host& host, const json& request) {
  const auto verb = request.at("do").get<std::string>();
  if (verb == "load") {
    if (request.at("protocol").get<int>() != protocol::kVersion) {
      throw std::runtime_error(
          "this worker speaks another version of the protocol; build dent and its workers together");
    }
    host.pool = static_cast<const std::byte*>(
        map(protocol::kPool, request.at("pool_bytes").get<std::size_t>(), PROT_READ));
    host.results = static_cast<std::byte*>(
        map(protocol::kResults, request.at("result_bytes").get<std::size_t>(), PROT_READ | PROT_WRITE));
    return host.load(request);
  }
  if (verb == "problem") {
    host.set_problem(request.get<protocol::ProblemMessage>());
    return json::object();
  }
  if (verb == "prepare") {
    host.prepare(request.at("offsets").get<std::vector<protocol::Offsets>>());
    return json::object();
  }
  if (verb == "go") return host.go(request.at("lot").get<std::uint64_t>());
  if (verb == "keep") return host.keep(request.at("call").get<std::size_t>());
  if (verb == "launches") return host.launches();
  throw std::runtime_error("no request is called \"" + verb + "\"");
}

}  // namespace

int serve(Host& host) {
  std::string unread;
  std::string line;
  while (read_line(unread, line)) {
    json reply;
    const json request = parse_json(line);
    try {
      reply = answer(host, request);
    } catch (const std::exception& problem) {
      reply = {{"error", problem.what()}};
    }
    reply["id"] = request.is_object() ? request.value("id", json()) : json();
    if (!write_line(reply.dump(-1, ' ', false, json::error_handler_t::replace) + "\n")) break;
  }
  std::fflush(nullptr);
  if (host.gentle_end) return 0;
  _exit(0);  // no destructors of a candidate's library: they have had their chance to go wrong
}

}  // namespace dent
