// SPDX-License-Identifier: MIT
// dent watch: a page that shows a session while it runs.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/error.h"
#include "cli/commands.h"
#include "project/manifest.h"
#include "watch/feed.h"
#include "watch/server.h"

namespace dent::cli {
namespace {

struct WatchArguments {
  Common common;
  std::string session = "latest";
  int port = 4242;
};

// Only time that nobody else wants: what is watched may be a measurement on the same processors.
void stand_back() {
  const sched_param lowest{};
  if (sched_setscheduler(0, SCHED_IDLE, &lowest) != 0) setpriority(PRIO_PROCESS, 0, 19);
}

ExitCode watch(const WatchArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  stand_back();
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);  // whoever reads may leave
  Feed feed(project.directory, arguments.session);
  WatchServer server(feed, arguments.port);
  const std::string url = fmt::format("http://127.0.0.1:{}/", server.port());
  if (arguments.common.json) {
    print_json("watch",
               {{"url", url}, {"session", arguments.session}, {"project", project.directory.string()}});
  } else {
    std::puts(fmt::format("watching {} at {} (Ctrl-C ends it)", project.name, url).c_str());
  }
  std::fflush(stdout);
  std::thread([&server] { server.serve(); }).detach();
  int signal = 0;
  sigwait(&ends, &signal);
  _exit(0);  // threads answer until the end; there is nothing to tidy up
}

}  // namespace

void add_watch(Command& dent) {
  auto arguments = std::make_shared<WatchArguments>();
  Command& command = dent.command("watch", "Serve a page on this machine that shows a session while it runs");
  add_common(command, arguments->common);
  command
      .option("session", arguments->session,
              "Its id, the beginning of it, or \"latest\", which follows new ones")
      .show_default();
  command.option("--port", arguments->port, "On 127.0.0.1; 0: any that is free")
      .between(0, 65535)
      .show_default();
  command.examples(
      "  dent watch &  dent optimize                 # then open http://127.0.0.1:4242/\n"
      "  ssh -L 4242:127.0.0.1:4242 gpu-box dent watch -p my-kernel   # from elsewhere\n"
      "  dent watch --port 0 --json | jq -r .url");
  command.run([arguments] { return watch(*arguments); });
}

}  // namespace dent::cli
