// SPDX-License-Identifier: MIT
// A file that has no name, for what a child process says in lines: it is never full, and nobody has to read
// it in time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "system/file_descriptor.h"

namespace dent {

class LineFile {
 public:
  LineFile();                                     // throws Error (environment)
  int descriptor() const { return file_.get(); }  // for the child
  std::vector<std::string> fresh();               // whole lines that have come since the last call

 private:
  FileDescriptor file_;
  off_t at_ = 0;
  std::string unread_;
};

}  // namespace dent
