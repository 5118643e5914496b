// SPDX-License-Identifier: MIT
#include "executors/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "base/uuid.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;  // a folder that is gone meanwhile has no entries
  for (auto entry = fs::directory_iterator(folder, none); !none && entry != fs::directory_iterator();
       entry.increment(none))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string whole_lines(std::string text) {
  const std::size_t end = text.rfind('\n');
  text.erase(end == std::string::npos ? 0 : end + 1);
  return text;
}

std::optional<TryEnd> end_of(const fs::path& folder) {
  const auto text = read_text(folder / "end" / "end.json");
  if (!text) return std::nullopt;
  return from_json_text<TryEnd>(*text);
}

}  // namespace

void fields(Fields& f, TryEnd& end) {
  f("final", end.final, "whether the job has ended with it");
  fields(f, end.status);
}

bool claim(const fs::path& prepared, const fs::path& target) {
  if (std::rename(prepared.c_str(), target.c_str()) == 0) return true;
  const int problem = errno;
  std::error_code ignored;
  fs::remove_all(prepared, ignored);
  if (problem == ENOTEMPTY || problem == EEXIST) return false;
  throw Error(
      ErrorCode::environment, fmt::format("can't name {}: {}", target.string(), std::strerror(problem)),
      "check that the shared file system is there and has room: df -h " + target.parent_path().string());
}

JobQueue::JobQueue(fs::path root) : root_(std::move(root)) {
  for (const char* folder : {"jobs", "slots", "preparing"}) fs::create_directories(root_ / folder);
}

fs::path JobQueue::prepare(const std::string& owner) const {
  const fs::path folder = root_ / "preparing" / (owner + "." + new_uuid());
  fs::create_directory(folder);
  return folder;
}

void JobQueue::forget_prepared(const std::string& owner) const {
  std::error_code ignored;
  for (const std::string& name : names_in(root_ / "preparing"))
    if (name.starts_with(owner + ".")) fs::remove_all(root_ / "preparing" / name, ignored);
}

void JobQueue::put(const std::string& job, const std::function<void(const fs::path&)>& fill) const {
  if (has(job)) return;
  forget_prepared(job);
  const fs::path prepared = prepare(job);
  try {
    fs::create_directory(prepared / "tries");
    fs::create_directory(prepared / "work");
    fill(prepared / "work");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(prepared, ignored);
    throw;
  }
  claim(prepared, folder_of(job));
}

bool JobQueue::has(const std::string& job) const { return fs::exists(folder_of(job)); }

void JobQueue::withdraw(const std::string& job) const {
  if (has(job)) write_durably(folder_of(job) / "withdrawn", "");
}

bool JobQueue::withdrawn(const std::string& job) const { return fs::exists(folder_of(job) / "withdrawn"); }

void JobQueue::reopen(const std::string& job) const {
  const fs::path folder = folder_of(job);
  if (fs::exists(folder / "given_up")) {  // what it lost before counts no more
    write_durably(folder / "reopened", fmt::format("{}\n", tries(job).size()));
    fs::remove(folder / "given_up");
  }
  fs::remove(folder / "withdrawn");
}

void JobQueue::count_losses(const std::string& job) const {
  const std::string reopened = trimmed(text_of(folder_of(job) / "reopened"));
  const int from = reopened.empty() ? 0 : std::stoi(reopened);
  const auto all = tries(job);
  const auto lost = std::count_if(all.begin(), all.end(), [&](const Try& one) {
    return one.number > from && one.end && !one.end->final && one.end->status.state != JobState::preempted;
  });
  if (lost < kMostLosses) return;
  JobStatus last = all.back().end->status;
  last.why = fmt::format("given up: lost in {} tries. {}", lost, last.why);
  write_durably(folder_of(job) / "given_up", to_json_text(last) + "\n");
}

void JobQueue::remove(const std::string& job) const {
  // Out of sight first: a job that is half removed would wait for somebody to take it.
  const fs::path away = root_ / "preparing" / (job + "." + new_uuid());
  std::error_code gone;
  fs::rename(folder_of(job), away, gone);
  if (!gone) fs::remove_all(away, gone);
}

std::vector<std::string> JobQueue::jobs() const { return names_in(root_ / "jobs"); }
std::vector<std::string> JobQueue::slots() const { return names_in(root_ / "slots"); }

std::vector<Try> JobQueue::tries(const std::string& job) const {
  std::vector<Try> all;
  for (;;) {
    const int number = static_cast<int>(all.size()) + 1;
    const fs::path folder = folder_of(job) / "tries" / std::to_string(number);
    const auto by = read_text(folder / "by");
    if (!by) return all;
    all.push_back({job, number, folder, trimmed(*by), end_of(folder)});
  }
}

bool JobQueue::waits(const std::string& job) const { return waits(job, tries(job)); }

bool JobQueue::waits(const std::string& job, const std::vector<Try>& all) const {
  if (!has(job) || withdrawn(job) || fs::exists(folder_of(job) / "given_up")) return false;
  return all.empty() || (all.back().end && !all.back().end->final);
}

std::optional<JobStatus> JobQueue::ended(const std::string& job) const {
  const auto all = tries(job);
  if (!all.empty() && all.back().end && all.back().end->final) return all.back().end->status;
  if (const auto given_up = read_text(folder_of(job) / "given_up"))
    return from_json_text<JobStatus>(*given_up);
  const bool open = !all.empty() && !all.back().end;
  if (withdrawn(job) && !open) return JobStatus{.state = JobState::cancelled, .word = "withdrawn"};
  return std::nullopt;
}

bool JobQueue::is_over(const Try& open) { return fs::exists(open.folder / "end"); }

std::optional<Try> JobQueue::take(const std::string& slot) const {
  for (const std::string& job : jobs()) {
    // Read once: a try that another slot opens and ends meanwhile has the number that this one asks for.
    const auto all = tries(job);
    if (!waits(job, all)) continue;
    Try next{job, static_cast<int>(all.size()) + 1, {}, slot};
    next.folder = folder_of(job) / "tries" / std::to_string(next.number);
    if (open_try(job, all.empty() ? Try{} : all.back(), next)) return next;
  }
  return std::nullopt;
}

bool JobQueue::open_try(const std::string& job, const Try& before, const Try& next) const {
  const fs::path prepared = prepare(next.slot);
  const auto whole = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
  try {
    fs::copy(folder_of(job) / "work", prepared, whole);
    if (!before.folder.empty()) {
      std::ofstream(prepared / "ledger.jsonl", std::ios::binary) << whole_lines(text_of(before.ledger()));
      std::error_code none;
      fs::copy(before.folder / "artifacts", prepared / "artifacts", whole, none);
    }
    write_durably(prepared / "by", next.slot + "\n");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(prepared, ignored);
    if (!has(job)) return false;  // removed meanwhile
    throw;
  }
  return claim(prepared, next.folder);
}

bool JobQueue::end(const Try& done, const TryEnd& how) const {
  if (is_over(done)) return false;
  const fs::path prepared = prepare(done.slot);
  write_durably(prepared / "end.json", to_json_text(how) + "\n");
  const bool ours = claim(prepared, done.folder / "end");
  if (ours && !how.final) count_losses(done.job);
  return ours;
}

bool TryReader::read(const std::function<void(std::string_view)>& take) {
  const auto ended = queue_.ended(job_);  // first: then the last try is the one that it ended with
  const auto all = queue_.tries(job_);
  if (all.empty()) return ended.has_value() || !queue_.has(job_);
  const Try& last = all.back();
  std::string text;
  if (std::ifstream file(last.ledger(), std::ios::binary); file) {
    file.seekg(static_cast<std::streamoff>(bytes_));
    text = whole_lines({std::istreambuf_iterator<char>(file), {}});
  }
  // The next try copies these lines after this one was ended. So what was read before that is in the copy;
  // what was read later may not be.
  if (!ended && JobQueue::is_over(last)) return false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    take(std::string_view(text).substr(begin, end - begin));
    bytes_ += end + 1 - begin;  // counted when it was taken, not before: `take` may throw
    begin = end + 1;
  }
  return ended.has_value();
}

}  // namespace dent
