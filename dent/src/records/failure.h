// SPDX-License-Identifier: MIT
// How a kernel's process can fail. That is a result about the kernel, which a gate records; it travels as an
// exception because it may come up in the middle of a sampling run.
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
  hung,           // did not answer within its time
  garbage,        // answered something that is no answer
  out_of_memory,  // held more than it may
  refused,        // could not load the kernel, or the kernel returned an error
  no_driver,      // could not load the kernel, since this machine has no CUDA driver
  cheated,        // answered what can't be
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

// Whose process it was. Only the candidate's failures say something about the candidate.
enum class Role { candidate, baseline, incumbent, reference, sanitized, profiled };
inline constexpr Word<Role> kRoleWords[] = {{Role::candidate, "candidate"}, {Role::baseline, "baseline"},
                                            {Role::incumbent, "incumbent"}, {Role::reference, "reference"},
                                            {Role::sanitized, "sanitized"}, {Role::profiled, "profiled"}};
constexpr std::span<const Word<Role>> words(Role) { return kRoleWords; }

struct Failure {
  FailureKind kind = FailureKind::crashed;
  std::string what;        // one line
  std::string last_words;  // the end of what the process printed
  Role role = Role::candidate;
  std::optional<Cheat> cheat{};  // when it cheated; `what` is the evidence then
};

class KernelFailed : public std::runtime_error {
 public:
  explicit KernelFailed(Failure failure) : std::runtime_error(failure.what), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace dent
