// SPDX-License-Identifier: MIT
// Jobs that wait in a folder on a shared file system for slots, on whichever machines, to take them. There is
// no daemon and no lock: what only one may do is to give a folder its name, and rename() lets one of them do
// it. Whoever is killed leaves folders that are whole, or that nobody looks at. No clock is compared.
//
//   jobs/<job>/
//     work/         what to do, as it was put there: job.json and the files it needs
//     tries/<n>/    a copy of that for who does it, with the records that the try before left. A process that
//                   outlives its slot writes into a try that counts no more
//       by          whose it is
//       end/        how it ended. Made once: who makes it decides
//     given_up      it was lost too often
//     withdrawn     nobody is to do it any more
//   slots/<slot>/   of the slots' own
//   preparing/      folders that have no name yet
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executors/job.h"

namespace dent {

// Tries in which a job may be lost, for whatever cause but preemption, before it is given up.
inline constexpr int kMostLosses = 3;

struct TryEnd {
  bool final = true;  // the job has ended with it; else it waits for the next try
  JobStatus status{};
};
void fields(Fields& f, TryEnd& end);

struct Try {
  std::string job;
  int number = 0;  // from 1 on
  std::filesystem::path folder;
  std::string slot;
  std::optional<TryEnd> end{};

  std::filesystem::path ledger() const { return folder / "ledger.jsonl"; }
};

class JobQueue {
 public:
  explicit JobQueue(std::filesystem::path root);  // makes the folders that are missing
  const std::filesystem::path& root() const { return root_; }

  // For who sends. `job`: names sort in the order in which they are taken. `fill` gets an empty folder.
  // One that is there is left alone.
  void put(const std::string& job, const std::function<void(const std::filesystem::path&)>& fill) const;
  bool has(const std::string& job) const;
  void withdraw(const std::string& job) const;
  bool withdrawn(const std::string& job) const;
  void reopen(const std::string& job) const;  // one that was given up or withdrawn waits again
  void remove(const std::string& job) const;
  std::vector<std::string> jobs() const;  // in order

  std::vector<Try> tries(const std::string& job) const;
  bool waits(const std::string& job) const;  // for somebody to take it
  // Nothing while it waits or is done.
  std::optional<JobStatus> ended(const std::string& job) const;

  // For a slot: the first job that waits is its own now.
  std::optional<Try> take(const std::string& slot) const;
  // False: somebody has ended it before, and what it brings does not count.
  bool end(const Try& done, const TryEnd& how) const;
  static bool is_over(const Try& open);

  std::filesystem::path slot_folder(const std::string& slot) const { return root_ / "slots" / slot; }
  std::vector<std::string> slots() const;
  // What a slot that is gone was about to do.
  void forget_prepared(const std::string& owner) const;

 private:
  bool waits(const std::string& job, const std::vector<Try>& all) const;
  std::filesystem::path folder_of(const std::string& job) const { return root_ / "jobs" / job; }
  std::filesystem::path prepare(const std::string& owner) const;
  void count_losses(const std::string& job) const;
  bool open_try(const std::string& job, const Try& before, const Try& next) const;

  std::filesystem::path root_;
};

// Gives `prepared`, which is not empty, the name `target`; false, and `prepared` is gone, when that is taken.
bool claim(const std::filesystem::path& prepared, const std::filesystem::path& target);

// The lines of a job's tries as one ledger: those of a try that was given up are those with which the next
// one begins.
class TryReader {
 public:
  TryReader(const JobQueue& queue, std::string job) : queue_(queue), job_(std::move(job)) {}
  // Takes what is new. True when no more will come.
  bool read(const std::function<void(std::string_view)>& take);

 private:
  const JobQueue& queue_;
  std::string job_;
  std::size_t bytes_ = 0;  // that were taken, of whole lines
};

}  // namespace dent
