// SPDX-License-Identifier: MIT
// A suite: many projects below one folder, a row for each. On disk:
//
//   FOLDER/.dent/suites/<id>/suite.json      what is run, fixed when it begins
//                       .../rows/0007.json   how the project with this number ended
//                       .../logs/0007.txt    what its dent said
//                       .../report.html, fast_p.svg
//
// A row is there as a whole or not at all, so a suite that was killed goes on with the projects that have
// none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/ratio.h"
#include "records/fields.h"
#include "records/verdict.h"

namespace dent {

struct SuitePlan {
  std::vector<std::string> projects;       // their folders, relative to the suite's
  std::vector<std::string> with, without;  // gates, as for dent run
  bool operator==(const SuitePlan&) const = default;
};
void fields(Fields& f, SuitePlan& plan);

struct SuiteRow {
  std::string project;               // its folder
  std::optional<Verdict> verdict{};  // nothing: its session did not begin
  std::string reason{};              // one line
  int exit_code = 0;                 // of its dent
  std::optional<Ratio> ratio{};      // mean over the shapes that were timed
  bool busy = false;                 // the machine, meanwhile
  std::string session{}, device{};
  double seconds = 0;
  bool operator==(const SuiteRow&) const = default;
};
void fields(Fields& f, SuiteRow& row);

// What a row says about the kernel.
enum class Found {
  right,
  wrong,
  not_judged
};  // not_judged: the machine, the budget or another dent was in the way
inline constexpr Word<Found> kFoundWords[] = {
    {Found::right, "right"}, {Found::wrong, "wrong"}, {Found::not_judged, "not judged"}};
constexpr std::span<const Word<Found>> words(Found) { return kFoundWords; }
Found found(const SuiteRow& row);
// Whether another run on this machine would say the same: not where it was busy, or in the way.
bool stands(const SuiteRow& row);

// Every folder with a manifest in `folder` and below, relative to it, in the order of the numbers that their
// names begin with. Hidden folders are passed over. Throws Error where there is none.
std::vector<std::string> projects_below(const std::filesystem::path& folder);

class Suite {
 public:
  // Of this folder, with nothing done yet. Throws Error (environment) when it can't be written.
  static Suite create(const std::filesystem::path& folder, SuitePlan plan);
  // By id, by the beginning of one, or "latest". Throws Error (invalid) when none fits or several do.
  static Suite open(const std::filesystem::path& folder, std::string_view id);

  const std::string& id() const { return id_; }
  const SuitePlan& plan() const { return plan_; }
  const std::filesystem::path& folder() const { return folder_; }    // of the projects
  const std::filesystem::path& records() const { return records_; }  // .dent/suites/<id>
  std::filesystem::path log(std::size_t number) const;

  std::optional<SuiteRow> row(std::size_t number) const;
  void put(std::size_t number, const SuiteRow& row) const;  // on disk when it returns
  std::vector<SuiteRow> rows() const;  // of all projects; those without one are interrupted

 private:
  Suite(std::filesystem::path folder, std::string id);

  std::string id_;
  std::filesystem::path folder_, records_;
  SuitePlan plan_;
};

// The folder of all suites, made where it is not there; a lock in it keeps a second dent away.
std::filesystem::path suites_folder(const std::filesystem::path& folder);

}  // namespace dent
