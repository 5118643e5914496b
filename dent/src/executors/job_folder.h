// SPDX-License-Identifier: MIT
// The folder in which a job is done, seen from outside: started in the background, followed, asked for its
// state, cancelled. Works on any machine that sees the folder, but for cancel() and a lost job's state, which
// need the machine that does it.
//
//   job.json        what to do
//   lock            held while a dent does it
//   ledger.jsonl    its records; artifacts/ and log beside
//   process.json    who does it, since which boot of the machine
//   doing.json      what it is at, and on which device
//   exit_code       of `dent job`, once it has ended; 14: it can go on
//   cancelled       somebody wants it to end
//   envs            variables for it, read and removed when it begins: they may be secrets
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executors/executor.h"

namespace dent {

// Starts `program job FOLDER` in a session of its own and returns. One that runs or has come to its end is
// left alone.
void start_in_background(const std::filesystem::path& folder, const std::filesystem::path& program);

JobStatus status_of(const std::filesystem::path& folder);

void cancel_job(const std::filesystem::path& folder);

// Every whole line of the ledger, as they come, until `over` says that no more will: asked when there is
// nothing new. Lines that are there by then are taken first.
void follow_ledger(const std::filesystem::path& ledger, const TakeLine& take,
                   const std::function<bool()>& over);

// For the next start.
using Variables = std::vector<std::pair<std::string, std::string>>;
std::string envs_text(const Variables& envs);
void write_envs(const std::filesystem::path& folder, const Variables& envs);

// For who does the job, and holds its lock.
void take_envs(const std::filesystem::path& folder);  // into our own environment
std::optional<int> noted_exit(const std::filesystem::path& folder);
void note_process(const std::filesystem::path& folder);
void note_exit(const std::filesystem::path& folder, int exit_code);

}  // namespace dent
