// SPDX-License-Identifier: MIT
#include "ledger/session_store.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "system/durable_file.h"
#include "system/file_descriptor.h"

namespace dent {
namespace {

std::string ids_of(const std::vector<SessionFolder>& sessions) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = sessions.size() - std::min(sessions.size(), kMost); i < sessions.size(); ++i) {
    text += (text.empty() ? "" : ", ") + sessions[i].id;
  }
  return (sessions.size() > kMost ? "..., " : "") + text;
}

}  // namespace

std::string name_by_time() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y%m%d-%H%M%S}-{:03d}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

SessionStore::SessionStore(const std::filesystem::path& project) : dent_(project / ".dent") {
  for (const auto& folder : {dent_, dent_ / "sessions"}) {
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder))) {
      throw Error(
          ErrorCode::invalid,
          fmt::format("{} is a symbolic link: records would be written to {}", folder.string(),
                      std::filesystem::read_symlink(folder).string()),
          "remove the link; to keep records on another disk, move the project there or bind-mount it");
    }
  }
}

const std::filesystem::path& SessionStore::prepare() {
  create_folder_durably(dent_);
  // Another part of dent may have made the folder first.
  if (!std::filesystem::exists(dent_ / ".gitignore")) write_durably(dent_ / ".gitignore", "*\n");
  create_folder_durably(dent_ / "sessions");
  return dent_;
}

SessionFolder SessionStore::create() {
  prepare();
  while (true) {
    const std::string id = name_by_time();
    SessionFolder session{id, dent_ / "sessions" / id};
    if (!create_folder_durably(session.folder)) {  // another session has this millisecond's name
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    create_folder_durably(session.artifacts());
    return session;
  }
}

std::vector<SessionFolder> SessionStore::list() const {
  const auto sessions = dent_ / "sessions";
  if (!std::filesystem::exists(sessions)) return {};
  std::error_code error;
  std::filesystem::directory_iterator entries(sessions, error);
  if (error) refuse("can't list", sessions, error.value());
  std::vector<SessionFolder> found;
  for (const auto& entry : entries) {
    if (entry.is_directory()) found.push_back({entry.path().filename().string(), entry.path()});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return found;
}

SessionFolder SessionStore::find(std::string_view id) const {
  const auto all = list();
  if (all.empty()) {
    throw Error(ErrorCode::invalid, fmt::format("there are no sessions in {}", dent_.string()),
                "`dent run` creates the first one");
  }
  if (id == "latest") return all.back();
  std::vector<SessionFolder> fitting;
  for (const auto& session : all) {
    if (session.id == id) return session;
    if (!id.empty() && session.id.starts_with(id)) fitting.push_back(session);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    throw Error(ErrorCode::invalid, fmt::format("no session \"{}\"; sessions are {}", id, ids_of(all)),
                "`dent log` lists them; \"latest\" names the last");
  }
  throw Error(
      ErrorCode::invalid,
      fmt::format("\"{}\" is the beginning of {} session ids: {}", id, fitting.size(), ids_of(fitting)),
      "give more characters of the id");
}

std::filesystem::path artifact_path(const SessionFolder& session, std::string_view name) {
  const std::filesystem::path relative(name);
  const bool plain =
      !name.empty() && relative.is_relative() && !relative.filename().empty() &&
      std::none_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; });
  if (!plain) {
    throw Error(ErrorCode::invalid,
                fmt::format("artifact name \"{}\" points outside the session's folder", name));
  }
  return session.artifacts() / relative;
}

}  // namespace dent
