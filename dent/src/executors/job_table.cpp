// SPDX-License-Identifier: MIT
#include "executors/job_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/uuid.h"
#include "records/json.h"
#include "records/line.h"
#include "system/durable_file.h"

namespace dent {
namespace {

constexpr const char* kNotes = "notes.json";
constexpr const char* kStatus = "status.json";

}  // namespace

SentJob::SentJob(std::filesystem::path folder) : folder_(std::move(folder)), job_(read_job(folder_)) {
  if (const auto text = read_text(folder_ / kNotes))
    read_json(*text, [this](Fields& f) { f("notes", notes_, "of the executor"); });
  if (const auto text = read_text(folder_ / kStatus)) status_ = from_json_text<JobStatus>(*text);
}

std::string SentJob::noted(const std::string& what) const {
  const auto found = notes_.find(what);
  return found == notes_.end() ? "" : found->second;
}

void SentJob::note(const std::string& what, const std::string& value) {
  if (noted(what) == value) return;
  notes_[what] = value;
  write_durably(folder_ / kNotes,
                write_json([this](Fields& f) { f("notes", notes_, "of the executor"); }) + "\n");
}

void SentJob::remember(const JobStatus& status) {
  if (status == status_) return;
  status_ = status;
  write_durably(folder_ / kStatus, to_json_text(status) + "\n");
}

SentJob JobTable::create(Job job) const {
  job.id = new_uuid();
  job.created = utc_now();
  create_folder_durably(jobs_);
  const auto folder = jobs_ / job.id;
  create_folder_durably(folder);
  write_job(folder, job);
  return SentJob(folder);
}

std::vector<SentJob> JobTable::list() const {
  std::vector<SentJob> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(jobs_, none)) {
    // One that was killed before its job.json was written has never been sent.
    if (std::filesystem::exists(entry.path() / kJobFile)) found.emplace_back(entry.path());
  }
  std::sort(found.begin(), found.end(),
            [](const SentJob& a, const SentJob& b) { return a.job().created < b.job().created; });
  return found;
}

SentJob JobTable::find(std::string_view id) const {
  std::vector<SentJob> all = list();
  if (all.empty()) throw Error(ErrorCode::invalid, "this project has no jobs", "dent run --on EXECUTOR");
  if (id == "latest") return all.back();
  std::erase_if(all, [id](const SentJob& sent) {
    return id.empty() || (!sent.job().id.starts_with(id) && sent.job().session != id);
  });
  if (all.size() == 1) return all.front();
  throw Error(ErrorCode::invalid, fmt::format("{} \"{}\"", all.empty() ? "no job" : "several jobs", id),
              "`dent jobs` lists them");
}

}  // namespace dent
