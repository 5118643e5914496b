// SPDX-License-Identifier: MIT
// The live page over HTTP, for this machine alone: it listens on 127.0.0.1, answers GET and HEAD for four
// paths, reads nothing that a request names, and refuses a request whose Host is another, so that no web page
// can reach it by a name of its own.
#pragma once

#include <memory>
#include <string>

#include "watch/feed.h"

namespace dent {

class WatchServer {
 public:
  // `port`: 0 takes a free one. Throws Error (environment) where it is taken, or where this build has no
  // server.
  WatchServer(Feed& feed, int port);
  ~WatchServer();

  int port() const;
  [[noreturn]] void serve();  // until the process ends

 private:
  struct Listening;
  std::unique_ptr<Listening> listening_;
};

// Whether a Host header names this machine's loopback and this port.
bool is_own_host(std::string_view host, int port);

}  // namespace dent
