// SPDX-License-Identifier: MIT
// Processes of this machine, read from /proc.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dent {

struct ProcessEntry {
  std::string name;
  char state = '?';  // R, S, D, T (stopped), t (traced), Z (zombie)
  pid_t parent = 0;
  pid_t group = 0;
};

// Entry of a process or thread; its state is '?' if it does not exist.
ProcessEntry process_entry(pid_t process);
std::string name_of(pid_t process);

std::map<pid_t, ProcessEntry> all_processes();
std::vector<pid_t> children_of(pid_t process);

// The process's id in a PID namespace below ours, as in a sandbox; 0 if it is in ours.
pid_t number_in_cell(pid_t process);
// Process ids of a sandbox's init process and of the program that it runs.
inline constexpr pid_t kFirstInCell = 1, kProgramInCell = 2;

// Whether no thread of a live process runs or is ready to run.
bool all_threads_stopped(pid_t process);

// Whether `ancestor` started it, directly or through processes that still live.
bool is_below(pid_t process, pid_t ancestor);
bool is_below(const std::map<pid_t, ProcessEntry>& all, pid_t process, pid_t ancestor);

}  // namespace dent
