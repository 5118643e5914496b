// SPDX-License-Identifier: MIT
// A shell on another machine, by OpenSSH as the user has set it up: config, agent, jump hosts, known hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executors/executor.h"
#include "system/file_descriptor.h"

namespace dent {

class SshShell {
 public:
  // `host`: as the user's ssh config knows it. `config`: a file in the place of that config; empty: the
  // user's.
  SshShell(std::string host, std::string config);

  struct Answer {
    int code = 0;  // of the script
    std::string out, err;
  };
  // Runs a script there, by sh. The first throws Unreachable when there is no connection or it is lost, and
  // Error where a login is refused or the host's key is unknown or has changed: no key is ever accepted.
  Answer run(const std::string& script, std::string_view input = {}, double seconds = 120);
  Answer run(const std::string& script, const FileDescriptor& input, double seconds);
  // The same with its output line by line, as it comes.
  int follow(const std::string& script, const TakeLine& take);

  const std::string& host() const { return host_; }
  const std::vector<std::string>& command();  // ssh with its options, without the host

 private:
  std::vector<std::string> words(const std::string& script);
  [[noreturn]] void explain(const std::string& err) const;

  std::string host_, config_;
  std::vector<std::string> command_;
};

}  // namespace dent
