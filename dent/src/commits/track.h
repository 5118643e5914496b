// SPDX-License-Identifier: MIT
// The speed of a project's kernel over its commits, each measured against the first of them in one session,
// and where it changed.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/verdict.h"
#include "records/fields.h"
#include "records/verdict.h"
#include "repository/repository.h"

namespace dent {

struct TrackedShape {
  std::string shape;
  std::optional<Ratio> ratio{};
  bool operator==(const TrackedShape&) const = default;
};

struct TrackedCommit {
  std::string commit, time, subject;
  std::optional<Ratio> ratio{};  // of its speed to the first commit's, mean over shapes
  std::vector<TrackedShape> shapes{};
  std::optional<Verdict> verdict{};  // of its session; nothing: it has none
  bool busy = false;                 // the machine, meanwhile
  std::string why{};                 // there is no ratio
  std::string session{};
  bool operator==(const TrackedCommit&) const = default;
};
void fields(Fields& f, TrackedShape& shape);
void fields(Fields& f, TrackedCommit& commit);

// Whether another measurement would say the same: not when the machine was busy, or in the way.
bool is_settled(const TrackedCommit& commit);

// The last `most` commits of HEAD's first parents that touch the project's folder (or, with `everywhere`, any
// file), the oldest first. `from`: not before that one, which is the first then; empty: as far as there are
// any. Throws Error where there is none.
std::vector<TrackedCommit> commits_to_track(const Repository& repository, const std::string& from, int most,
                                            bool everywhere);

// Where the speed changed: the first commit that differs from the one with which its stretch began, by the
// same rule as FASTER and SLOWER. It begins the next stretch. So what creeps is found when it has become
// large enough to be proved.
struct ChangePoint {
  std::size_t at = 0, since = 0;  // commits
  Ratio change;
  SpeedVerdict verdict = SpeedVerdict::faster;
  bool operator==(const ChangePoint&) const = default;
};
std::vector<ChangePoint> change_points(std::span<const TrackedCommit> commits, double same_within);

// What has been measured before, on disk: one file for each commit. `key`: what it depends on.
class TrackBook {
 public:
  TrackBook(const std::filesystem::path& dent_folder, const std::string& key);
  std::optional<TrackedCommit> find(const std::string& commit) const;
  void put(const TrackedCommit& commit) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// For people.
std::string track_text(std::span<const TrackedCommit> commits, std::span<const ChangePoint> changes);
std::string track_page(const std::string& project, std::span<const TrackedCommit> commits,
                       std::span<const ChangePoint> changes, double same_within);

}  // namespace dent
