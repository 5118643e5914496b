// SPDX-License-Identifier: MIT
#include "workers/serve.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "records/json.h"

namespace dent {
namespace {

// Reads one line from the requests; false at their end.
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

// Files mapped as executable. Columns of /proc/self/maps: address, permissions, offset, device, inode, path.
std::vector<std::string> executed_files() {
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream row(line);
    std::string address, rights, offset, device, inode, path;
    if (row >> address >> rights >> offset >> device >> inode >> path && path.front() == '/' &&
        rights.find('x') != std::string::npos) {
      found.insert(path);
    }
  }
  return {found.begin(), found.end()};
}

template <class Message>
Message message_in(const ParsedJson& request) {
  Message message;
  request.read([&message](Fields& f) { fields(f, message); });
  return message;
}

// Writes the fields of the reply.
void answer(Host& host, protocol::Verb verb, const ParsedJson& request, Fields& f) {
  switch (verb) {
    case protocol::Verb::load: {
      const auto load = message_in<protocol::Load>(request);
      if (load.protocol != protocol::kVersion) {
        throw std::runtime_error(
            "this worker speaks another version of the protocol; build dent and its workers together");
      }
      host.pool = static_cast<const std::byte*>(map(protocol::kPool, load.pool_bytes, PROT_READ));
      host.results =
          static_cast<std::byte*>(map(protocol::kResults, load.result_bytes, PROT_READ | PROT_WRITE));
      protocol::Loaded loaded = host.load(load);
      loaded.code = executed_files();
      fields(f, loaded);
      return;
    }
    case protocol::Verb::setup: {
      protocol::SetUp done = host.set_up();
      fields(f, done);
      return;
    }
    case protocol::Verb::jit:
      throw std::runtime_error("a native worker compiles nothing when called");
    case protocol::Verb::problem:
      host.set_problem(message_in<protocol::ProblemMessage>(request));
      return;
    case protocol::Verb::prepare:
      host.prepare(message_in<protocol::Prepare>(request).offsets);
      return;
    case protocol::Verb::go: {
      protocol::Timed timed = host.go(message_in<protocol::Go>(request));
      fields(f, timed);
      return;
    }
    case protocol::Verb::keep: {
      protocol::Kept kept = host.keep(message_in<protocol::Keep>(request).call);
      fields(f, kept);
      return;
    }
    case protocol::Verb::launches: {
      protocol::Launches launches = host.launches();
      fields(f, launches);
      return;
    }
  }
}

std::string reply_to(Host& host, const ParsedJson& request) {
  std::int64_t id = 0;
  const auto refuse = [&id](protocol::Refusal refusal) {
    return write_json([&](Fields& f) {
      f("id", id, "id of the request");
      fields(f, refusal);
    });
  };
  try {
    protocol::Verb verb{};
    request.read([&](Fields& f) {
      f("id", id, "id of the request");
      f("do", verb, "the request");
    });
    return write_json([&](Fields& f) {
      f("id", id, "id of the request");
      answer(host, verb, request, f);
    });
  } catch (const Refused& problem) {
    return refuse({problem.what(), problem.code()});
  } catch (const Error& problem) {
    return refuse({problem.in_one_line()});
  } catch (const std::exception& problem) {
    return refuse({problem.what()});
  }
}

}  // namespace

int serve(Host& host) {
  std::string unread;
  std::string line;
  while (read_line(unread, line)) {
    if (!write_line(reply_to(host, ParsedJson(line)) + "\n")) break;
  }
  std::fflush(nullptr);
  if (host.gentle_end) return 0;
  _exit(0);  // skips destructors of the candidate's library, which could crash
}

}  // namespace dent
