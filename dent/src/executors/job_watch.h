// SPDX-License-Identifier: MIT
// Who runs where: looks at a session's jobs now and then, in a thread of its own, and tells it. It touches
// neither the session nor the jobs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "executors/executor.h"
#include "session/observer.h"

namespace dent {

class JobWatch {
 public:
  using Tell = std::function<void(const std::vector<Running>&)>;
  // `tell` is called from the thread.
  JobWatch(ExecutorRules rules, Project project, std::filesystem::path dent_folder, std::string session,
           Tell tell);
  ~JobWatch();  // when the look that is under way has ended
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

 private:
  void watch();
  std::vector<Running> look() const;

  ExecutorRules rules_;
  Project project_;
  std::filesystem::path folder_;
  std::string session_;
  Tell tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace dent
