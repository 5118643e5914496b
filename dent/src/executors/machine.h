// SPDX-License-Identifier: MIT
// A machine that is started when work needs it, kept while somebody works with it, and stopped when it has
// been idle for long enough: [executor.NAME.machine]. What stops it is a watcher of its own, which outlives
// dent. A failure stops nothing: a machine is idle only when nobody holds it and every job that was sent to
// it has ended. Its uptime is booked to the session that used it last.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "executors/executor.h"
#include "executors/uptime_book.h"
#include "session/session.h"
#include "system/file_descriptor.h"

namespace dent {

class Machine {
 public:
  // `rules` have a machine.
  explicit Machine(ExecutorRules rules);

  std::string status() const;  // the word of its own status command; throws Error

  // Started where it does not run; up when this returns. True when it had to be started. Throws Error with
  // what the commands said.
  bool bring_up(const Say& say);

  // From now on, for as long as this object lives.
  void hold();
  // A job that may run on when we are gone. `project`: whose it is. Its session pays for the machine from now
  // on, until another does.
  void expect(const std::filesystem::path& project, const Job& job) const;
  // Its uptime goes on record, as far as nobody has paid for it. Nothing happens to a session without
  // records.
  void book(const Project& project, Session& session) const;

  // For the watcher: until it has stopped the machine, or another does the same.
  void watch();
  // Starts one that outlives us.
  void start_watcher(const std::filesystem::path& project) const;

  const std::filesystem::path& folder() const { return folder_; }  // of what is known about it

 private:
  bool is_up() const { return status() == rules_.machine->running; }
  enum class Use { idle, busy, out_of_reach };
  Use use() const;
  void book_to_the_last() const;

  ExecutorRules rules_;
  std::filesystem::path folder_;
  UptimeBook uptime_;
  FileDescriptor held_;
  bool was_up_ = false;  // when we looked last
};

}  // namespace dent
