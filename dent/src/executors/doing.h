// SPDX-License-Identifier: MIT
// What a job is at, in a file of its folder: for who looks at it from outside. Lost with the machine, and no
// loss.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "executors/job.h"
#include "session/observer.h"

namespace dent {

class DoingFile : public Observer {
 public:
  // `where`: machine and device.
  DoingFile(std::filesystem::path folder, std::string where);
  void begin(const Step& step, std::size_t number, std::size_t of) override;
  void begin_part(const Step& step) override;
  void progress(double share, const std::string& doing) override;

 private:
  void write(const std::string& doing);

  std::filesystem::path file_;
  std::string where_, step_;
  std::chrono::steady_clock::time_point written_;
};

// Puts it into the status of a job that runs in that folder.
void add_doing(JobStatus& status, const std::filesystem::path& folder);

}  // namespace dent
