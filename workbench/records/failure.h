// SPDX-License-Identifier: MIT
// How a kernel's process can fail. That is a result about the kernel, which a gate records; it travels as an
// exception because it may come up in the middle of a sampling run.
#pragma once

#include <stdexcept>
#include <string>

namespace dent {

struct Failure {
  enum class Kind {
    crashed,        // died of a signal
    exited,         // ended before it answered
    hung,           // did not answer within its time
    garbage,        // answered something that is no answer
    out_of_memory,  // held more than it may
    refused,        // could not load the kernel, or the kernel returned an error
    cheated,        // answered what can't be; `what` is then "name of the cheat: evidence"
  };
  Kind kind = Kind::crashed;
  std::string what;        // one line
  std::string last_words;  // the end of what the process printed
  std::string role{};      // whose process it was: candidate, baseline, reference
};

inline const char* name(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::crashed:
      return "crashed";
    case Failure::Kind::exited:
      return "exited early";
    case Failure::Kind::hung:
      return "hung";
    case Failure::Kind::garbage:
      return "garbage";
    case Failure::Kind::out_of_memory:
      return "out of memory";
    case Failure::Kind::refused:
      return "refused";
    case Failure::Kind::cheated:
      return "cheated";
  }
  return "";
}

class KernelFailed : public std::runtime_error {
 public:
  explicit KernelFailed(Failure failure) : std::runtime_error(failure.what), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace dent
