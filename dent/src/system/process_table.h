// SPDX-License-Identifier: MIT
// The processes of this machine, as /proc has them.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dent {

struct ProcessEntry {
  std::string name;
  char state = '?';  // R, S, D, T (stopped), t (traced), Z (dead and not waited for)
  pid_t parent = 0;
  pid_t group = 0;
};

// Of a process or a thread; a state of '?' where there is none.
ProcessEntry process_entry(pid_t process);
std::string name_of(pid_t process);

std::map<pid_t, ProcessEntry> all_processes();
std::vector<pid_t> children_of(pid_t process);

// Where a process lives in a process namespace below ours, as it does in a cell: its number there. Else 0.
pid_t number_in_cell(pid_t process);
// The numbers of the first process of a cell, and of the program that the cell was made for.
inline constexpr pid_t kFirstInCell = 1, kProgramInCell = 2;

// Whether a process that lives has no thread that runs or waits for its turn.
bool all_threads_stopped(pid_t process);

// Whether `ancestor` has started it, itself or by others that still live.
bool is_below(pid_t process, pid_t ancestor);
bool is_below(const std::map<pid_t, ProcessEntry>& all, pid_t process, pid_t ancestor);

}  // namespace dent
