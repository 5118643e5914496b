// SPDX-License-Identifier: MIT
#include "watch/server.h"

#include <fmt/format.h>

#include "base/error.h"

#if DENT_HAS_BEAST
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <thread>

#include "report/page/style.h"
#include "session/version.h"
#include "watch/page.h"
#endif

namespace dent {

bool is_own_host(std::string_view host, int port) {
  for (const char* name : {"127.0.0.1", "localhost"}) {
    if (host == fmt::format("{}:{}", name, port) || (port == 80 && host == name)) return true;
  }
  return false;
}

#if DENT_HAS_BEAST

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Reply = http::response<http::string_body>;

constexpr auto kFeedEvery = std::chrono::seconds(1);
constexpr int kMostConnections = 64;
constexpr int kSocketSeconds = 10;  // for one read or write
constexpr std::size_t kLongestRequest = 16384;

// The page may load only from this server, and no other page may embed it in a frame.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src "
    "data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

template <class Message>
void guard(Message& message) {
  message.set(http::field::server, std::string("dent ") + kDentVersion);
  message.set(http::field::cache_control, "no-store");
  message.set("Content-Security-Policy", kPolicy);
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Referrer-Policy", "no-referrer");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.keep_alive(false);
}

Reply reply(http::status status, const char* type, std::string body) {
  Reply made(status, 11);
  guard(made);
  made.set(http::field::content_type, type);
  made.body() = std::move(body);
  made.prepare_payload();
  return made;
}

Reply refusal(http::status status, const std::string& why) {
  return reply(status, "text/plain; charset=utf-8", why + "\n");
}

// Sends changes while the client reads, and heartbeats by which the client tells a dead connection from a
// quiet session.
void send_events(tcp::socket& socket, Feed& feed) {
  http::response<http::empty_body> head(http::status::ok, 11);
  guard(head);
  head.set(http::field::content_type, "text/event-stream");
  http::response_serializer<http::empty_body> serializer(head);
  boost::system::error_code gone;
  http::write_header(socket, serializer, gone);
  std::shared_ptr<const Snapshot> shown;
  while (!gone) {
    const auto now = feed.look();
    asio::write(socket, asio::buffer(watch_events(shown.get(), *now)), gone);
    shown = now;
    std::this_thread::sleep_for(kFeedEvery);
  }
}

void limit_time(tcp::socket& socket) {
  const timeval limit{.tv_sec = kSocketSeconds, .tv_usec = 0};
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void answer(tcp::socket& socket, Feed& feed, int port) {
  limit_time(socket);
  boost::beast::flat_buffer buffer(kLongestRequest);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kLongestRequest / 2);
  boost::system::error_code problem;
  http::read(socket, buffer, parser, problem);
  const auto send = [&](Reply made) {
    if (parser.is_header_done() && parser.get().method() == http::verb::head) made.body().clear();
    http::write(socket, made, problem);
  };
  if (problem) return send(refusal(http::status::bad_request, "the request is not valid HTTP"));
  const auto& request = parser.get();
  const std::string_view host(request[http::field::host].data(), request[http::field::host].size());
  if (!is_own_host(host, port))
    return send(refusal(http::status::forbidden,
                        "the Host header must name this machine's loopback address and port"));
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return send(refusal(http::status::method_not_allowed, "only GET and HEAD are supported"));
  const std::string_view path(request.target().data(), request.target().size());
  if (path == "/events" && request.method() == http::verb::get) return send_events(socket, feed);
  if (path == "/") return send(reply(http::status::ok, "text/html; charset=utf-8", watch_page(*feed.look())));
  if (path == "/page.js")
    return send(reply(http::status::ok, "text/javascript; charset=utf-8", std::string(kWatchScript)));
  if (path == "/style.css")
    return send(reply(http::status::ok, "text/css; charset=utf-8", std::string(kPageStyle)));
  send(refusal(http::status::not_found, "not found; the page is at /"));
}

}  // namespace

struct WatchServer::Listening {
  Feed& feed;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  std::atomic<int> connections{0};
};

WatchServer::WatchServer(Feed& feed, int port) : listening_(new Listening{.feed = feed}) {
  boost::system::error_code problem;
  const tcp::endpoint here(asio::ip::address_v4::loopback(), static_cast<unsigned short>(port));
  tcp::acceptor& acceptor = listening_->acceptor;
  acceptor.open(here.protocol(), problem);
  if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor.bind(here, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) {
    throw Error(ErrorCode::environment,
                fmt::format("can't listen on 127.0.0.1:{}: {}", port, problem.message()),
                "choose another port, or let dent choose one: dent watch --port 0");
  }
}

int WatchServer::port() const { return listening_->acceptor.local_endpoint().port(); }

void WatchServer::serve() {
  const int own_port = port();
  while (true) {
    boost::system::error_code problem;
    tcp::socket socket(listening_->context);
    listening_->acceptor.accept(socket, problem);
    if (problem || listening_->connections >= kMostConnections) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;  // the socket is closed; the client will try again
    }
    ++listening_->connections;
    std::thread([this, own_port, taken = std::move(socket)]() mutable {
      try {
        answer(taken, listening_->feed, own_port);
      } catch (const std::exception&) {  // an error of one client must not affect others
      }
      --listening_->connections;
    }).detach();
  }
}

#else  // no Boost.Beast

struct WatchServer::Listening {};
WatchServer::WatchServer(Feed&, int) {
  throw Error(ErrorCode::environment, "this dent was built without Boost.Beast, which serves the page",
              "install Boost's headers (Debian: libboost-dev) and build dent again; dent report writes the "
              "same pictures to a file");
}
int WatchServer::port() const { return 0; }
void WatchServer::serve() { throw Error(ErrorCode::internal, "there is no server"); }

#endif

WatchServer::~WatchServer() = default;

}  // namespace dent
