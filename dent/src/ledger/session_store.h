// SPDX-License-Identifier: MIT
// Sessions of a project on disk: <project>/.dent/sessions/<id>/ with ledger.jsonl and artifacts/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

struct SessionFolder {
  std::string id;  // UTC to the millisecond, such as 20260331-140509-123, so that names sort by time
  std::filesystem::path folder;

  std::filesystem::path ledger() const { return folder / "ledger.jsonl"; }
  std::filesystem::path artifacts() const { return folder / "artifacts"; }
};

class SessionStore {
 public:
  // Throws Error where .dent is a link: what is written there would go elsewhere.
  explicit SessionStore(const std::filesystem::path& project);

  // The folder <project>/.dent. Created if needed, with a .gitignore that keeps it out of version control.
  const std::filesystem::path& prepare();
  const std::filesystem::path& folder() const { return dent_; }

  // Creates a session folder with an artifacts folder in it. Throws Error (environment) if that fails.
  SessionFolder create();

  std::vector<SessionFolder> list() const;  // oldest first; empty without a .dent folder

  // Finds a session by its id, the beginning of an id, or "latest". Throws Error (invalid) unless exactly one
  // fits.
  SessionFolder find(std::string_view id) const;

 private:
  std::filesystem::path dent_;
};

// A name made of the current time: 20260331-140509-123, UTC to the millisecond.
std::string name_by_time();

// Path of a file in the session's artifacts folder. Throws Error if the name points outside it.
std::filesystem::path artifact_path(const SessionFolder& session, std::string_view name);

}  // namespace dent
