// SPDX-License-Identifier: MIT
#include "executors/local.h"

#include "executors/job_folder.h"
#include "system/unpack.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(ExecutorRules rules) : rules_(std::move(rules)) {}
  std::string look() override { return "ready"; }
  void copy_there(SentJob&) override {}  // it is here
  void start(SentJob& sent) override {
    write_envs(sent.folder(), rules_.envs);
    start_in_background(sent.folder(), fs::read_symlink("/proc/self/exe"));
  }
  void follow(SentJob& sent, const TakeLine& take) override {
    follow_ledger(sent.folder() / "ledger.jsonl", take,
                  [&] { return status_of(sent.folder()).state != JobState::running; });
  }
  JobStatus state(SentJob& sent) override { return status_of(sent.folder()); }
  void cancel(SentJob& sent) override { cancel_job(sent.folder()); }
  void bring_back(SentJob& sent, const fs::path& artifacts) override {
    take_files(sent.folder() / "artifacts", artifacts);
  }

 private:
  ExecutorRules rules_;
};

}  // namespace

std::unique_ptr<Executor> local_executor(const ExecutorRules& rules) {
  return std::make_unique<LocalExecutor>(rules);
}

}  // namespace dent
