// SPDX-License-Identifier: MIT
#include "executors/job_watch.h"

#include <fmt/format.h>

#include "project/choice.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
constexpr auto kEvery = std::chrono::seconds(2);

std::string what(const Job& job) {
  if (!job.part) return job.command;
  if (job.part->kind != PartKind::evaluation) return job.part->name;
  return fmt::format("{} {}", job.part->name, describe(job.part->candidate.choice));
}

double seconds_since_sent(const SentJob& sent) {
  std::error_code problem;
  const auto written = fs::last_write_time(sent.folder() / kJobFile, problem);
  if (problem) return 0;
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
}

}  // namespace

JobWatch::JobWatch(ExecutorRules rules, Project project, fs::path dent_folder, std::string session, Tell tell)
    : rules_(std::move(rules)),
      project_(std::move(project)),
      folder_(std::move(dent_folder)),
      session_(std::move(session)),
      tell_(std::move(tell)),
      thread_([this] { watch(); }) {}

JobWatch::~JobWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void JobWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    lock.unlock();
    try {
      tell_(look());
    } catch (const std::exception&) {  // who follows the job says what is wrong
    }
    lock.lock();
    changed_.wait_for(lock, kEvery, [this] { return over_; });
  }
}

std::vector<Running> JobWatch::look() const {
  std::vector<Running> all;
  for (SentJob& sent : JobTable(folder_).list()) {
    if (sent.job().session != session_ || has_ended(sent.status().state)) continue;
    const JobStatus now = make_executor(rules_, project_)->state(sent);
    all.push_back({.what = what(sent.job()),
                   .executor = rules_.name,
                   .where = now.where,
                   .doing = now.doing.empty() ? std::string(name(now.state)) : now.doing,
                   .seconds = seconds_since_sent(sent)});
  }
  return all;
}

}  // namespace dent
