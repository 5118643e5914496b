// SPDX-License-Identifier: MIT
// The jobs that a project has sent out: <project>/.dent/jobs/<id>/, each with its job.json, what its executor
// notes about it, and its last known state.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "executors/job.h"

namespace dent {

// One of them, as who sent it knows it.
class SentJob {
 public:
  explicit SentJob(std::filesystem::path folder);  // throws Error

  const Job& job() const { return job_; }
  const std::filesystem::path& folder() const { return folder_; }

  // What an executor writes down to find its work again: the number that a scheduler gave it, a folder there.
  // On disk when note() returns.
  std::string noted(const std::string& what) const;  // "" where nothing is
  void note(const std::string& what, const std::string& value);

  const JobStatus& status() const { return status_; }  // as last known
  void remember(const JobStatus& status);

 private:
  std::filesystem::path folder_;
  Job job_;
  std::map<std::string, std::string> notes_;
  JobStatus status_;
};

class JobTable {
 public:
  explicit JobTable(const std::filesystem::path& dent_folder) : jobs_(dent_folder / "jobs") {}

  SentJob create(Job job) const;      // gives it an id and a time
  std::vector<SentJob> list() const;  // oldest first
  // By its id, the beginning of one, its session's id, or "latest". Throws Error.
  SentJob find(std::string_view id) const;

 private:
  std::filesystem::path jobs_;
};

}  // namespace dent
