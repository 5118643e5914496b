// SPDX-License-Identifier: MIT
// An unnamed file to which a child process writes lines. Unlike a pipe it never fills up, so nothing needs to
// read it in time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "system/file_descriptor.h"

namespace dent {

class LineFile {
 public:
  LineFile();                                     // throws Error (environment)
  int descriptor() const { return file_.get(); }  // the child writes to this one
  std::vector<std::string> fresh();               // complete lines since the last call

 private:
  FileDescriptor file_;
  off_t at_ = 0;
  std::string unread_;
};

}  // namespace dent
