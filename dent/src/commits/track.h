// SPDX-License-Identifier: MIT
// Speed of a project's kernel over its commits, each measured against the first one in one session, and the
// commits where the speed changed.
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
  std::optional<Ratio> ratio{};  // its speed over the first commit's, mean over shapes
  std::vector<TrackedShape> shapes{};
  std::optional<Verdict> verdict{};  // verdict of its session; nothing: no session
  bool busy = false;                 // whether the machine was busy meanwhile
  std::string why{};                 // reason why there is no ratio
  std::string session{};
  bool operator==(const TrackedCommit&) const = default;
};
void fields(Fields& f, TrackedShape& shape);
void fields(Fields& f, TrackedCommit& commit);

// Whether measuring again would give the same result; false after a busy machine or a failure of the machine.
bool is_settled(const TrackedCommit& commit);

// The last `most` commits on HEAD's first-parent history that touch the project's folder (with `everywhere`:
// any file), oldest first. `from`: the first commit to include; empty: no limit. Throws Error if there is
// none.
std::vector<TrackedCommit> commits_to_track(const Repository& repository, const std::string& from, int most,
                                            bool everywhere);

// A change of speed: the first commit that differs, by the rule for FASTER and SLOWER, from the commit at
// which the current segment began; it begins the next segment. A gradual change is found once it is large
// enough to be proved.
struct ChangePoint {
  std::size_t at = 0, since = 0;  // indices of commits
  Ratio change;
  SpeedVerdict verdict = SpeedVerdict::faster;
  bool operator==(const ChangePoint&) const = default;
};
std::vector<ChangePoint> change_points(std::span<const TrackedCommit> commits, double same_within);

// Results of earlier measurements on disk, one file per commit. `key`: text of all that the results depend
// on.
class TrackBook {
 public:
  TrackBook(const std::filesystem::path& dent_folder, const std::string& key);
  std::optional<TrackedCommit> find(const std::string& commit) const;
  void put(const TrackedCommit& commit) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// Text and page for people.
std::string track_text(std::span<const TrackedCommit> commits, std::span<const ChangePoint> changes);
std::string track_page(const std::string& project, std::span<const TrackedCommit> commits,
                       std::span<const ChangePoint> changes, double same_within);

}  // namespace dent
