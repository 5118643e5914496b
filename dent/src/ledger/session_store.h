// SPDX-License-Identifier: MIT
// The sessions of a project on disk: <project>/.dent/sessions/<id>/ with ledger.jsonl and artifacts/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

struct SessionFolder {
  std::string id;  // 20260331-140509-123: UTC to the millisecond, so that names sort by time
  std::filesystem::path folder;

  std::filesystem::path ledger() const { return folder / "ledger.jsonl"; }
  std::filesystem::path artifacts() const { return folder / "artifacts"; }
};

class SessionStore {
 public:
  // Throws Error where .dent is a link: what is written there would go elsewhere.
  explicit SessionStore(const std::filesystem::path& project);

  // <project>/.dent, which is created when it is not there, with a .gitignore that keeps it out of version
  // control.
  const std::filesystem::path& prepare();
  const std::filesystem::path& folder() const { return dent_; }

  // A new folder with an artifacts folder in it. Throws Error (environment) when it can't be created.
  SessionFolder create();

  std::vector<SessionFolder> list() const;  // oldest first; none when there is no .dent

  // By id, by the beginning of one, or "latest". Throws Error (invalid) when none fits or several do.
  SessionFolder find(std::string_view id) const;

 private:
  std::filesystem::path dent_;
};

// A name by this moment: 20260331-140509-123, UTC to the millisecond.
std::string name_by_time();

// Where to keep a file of a session: its artifacts folder. Throws Error for a name that would lead out of it.
std::filesystem::path artifact_path(const SessionFolder& session, std::string_view name);

}  // namespace dent
