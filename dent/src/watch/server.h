// SPDX-License-Identifier: MIT
// Serves the live page over HTTP to this machine only: listens on 127.0.0.1, answers GET and HEAD for four
// paths, reads no file that a request names, and refuses requests with another Host header, so that no web
// page can reach it through a DNS name of its own.
#pragma once

#include <memory>
#include <string>

#include "watch/feed.h"

namespace dent {

class WatchServer {
 public:
  // `port`: 0 chooses a free port. Throws Error (environment) if the port is in use, or if this build has no
  // server.
  WatchServer(Feed& feed, int port);
  ~WatchServer();

  int port() const;
  [[noreturn]] void serve();  // runs until the process ends

 private:
  struct Listening;
  std::unique_ptr<Listening> listening_;
};

// Whether a Host header names this machine's loopback address and this port.
bool is_own_host(std::string_view host, int port);

}  // namespace dent
