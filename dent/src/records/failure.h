// SPDX-License-Identifier: MIT
// Ways in which a kernel's process can fail. A failure is a result about the kernel that a gate records. It
// is thrown as an exception because it can occur in the middle of sampling.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "base/words.h"
#include "records/cheat.h"

namespace dent {

enum class FailureKind {
  crashed,        // died of a signal
  exited,         // ended before it answered
  hung,           // did not answer in time
  garbage,        // gave an invalid answer
  out_of_memory,  // exceeded its memory limit
  refused,        // could not load the kernel, or the kernel returned an error
  no_driver,      // could not load the kernel, since this machine has no CUDA driver
  cheated,        // gave an answer that can only come from cheating
};
inline constexpr Word<FailureKind> kFailureKindWords[] = {{FailureKind::crashed, "crashed"},
                                                          {FailureKind::exited, "exited early"},
                                                          {FailureKind::hung, "hung"},
                                                          {FailureKind::garbage, "garbage"},
                                                          {FailureKind::out_of_memory, "out of memory"},
                                                          {FailureKind::refused, "refused"},
                                                          {FailureKind::no_driver, "no driver"},
                                                          {FailureKind::cheated, "cheated"}};
constexpr std::span<const Word<FailureKind>> words(FailureKind) { return kFailureKindWords; }

// Role of the failed process. Only a failure of the candidate says something about the candidate.
enum class Role { candidate, baseline, incumbent, reference, sanitized, profiled };
inline constexpr Word<Role> kRoleWords[] = {{Role::candidate, "candidate"}, {Role::baseline, "baseline"},
                                            {Role::incumbent, "incumbent"}, {Role::reference, "reference"},
                                            {Role::sanitized, "sanitized"}, {Role::profiled, "profiled"}};
constexpr std::span<const Word<Role>> words(Role) { return kRoleWords; }

struct Failure {
  FailureKind kind = FailureKind::crashed;
  std::string what;        // one line
  std::string last_words;  // end of the process's output
  Role role = Role::candidate;
  std::optional<Cheat> cheat{};  // set if it cheated; `what` is the evidence
};

class KernelFailed : public std::runtime_error {
 public:
  explicit KernelFailed(Failure failure) : std::runtime_error(failure.what), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace dent
