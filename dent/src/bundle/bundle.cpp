// SPDX-License-Identifier: MIT
#include "bundle/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "executors/project_tree.h"
#include "ledger/ledger.h"
#include "project/manifest.h"
#include "records/json.h"
#include "report/session_view.h"
#include "session/environment.h"
#include "system/durable_file.h"
#include "system/streams.h"
#include "system/temporary_folder.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr double kTarSeconds = 600;
bool is_executable(const fs::path& file) {
  return (fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

// By the name of its first member, which a header of tar begins with.
bool is_bundle(const fs::path& file) {
  constexpr std::string_view kFirst("bundle.json\0", 12);
  std::array<char, kFirst.size()> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == kFirst;
}

// What the project is made of: bundles that were left in it are results.
ProjectTree sources_of(const Project& project) {
  ProjectTree tree = tree_of(project.directory, kManifestName);
  std::erase_if(tree.files, [&](const std::string& file) {
    return !fs::is_regular_file(tree.root / file) || is_bundle(tree.root / file);
  });
  return tree;
}

void put(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy_file(from, to);  // what a link points to
}

void put_session(const SessionFolder& session, const fs::path& to) {
  put(session.ledger(), to / "ledger.jsonl");
  for (const char* report : {"report.json", "report.html", "report.md"}) {
    if (fs::exists(session.folder / report)) put(session.folder / report, to / report);
  }
  if (!fs::exists(session.artifacts())) return;
  for (const auto& entry : fs::recursive_directory_iterator(session.artifacts())) {
    if (entry.is_regular_file())
      put(entry.path(), to / "artifacts" / entry.path().lexically_relative(session.artifacts()));
  }
}

void put_tree(const ProjectTree& tree, const fs::path& to) {
  for (const std::string& file : tree.files) put(tree.root / file, to / file);
}

void pack(const fs::path& stage, const fs::path& file) {
  const CommandAnswer packed =
      ask({.argv = {"tar", "--format=posix",
                    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime", "--sort=name",
                    "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=a=rX,u+w", "-C",
                    stage.string(), "-cf", file.string(), "bundle.json", "session", "tree"},
           .environment = {{"LC_ALL", "C"}, {"TAR_OPTIONS", ""}}},
          kTarSeconds);
  if (packed.ending.clean()) return;
  throw Error(ErrorCode::environment, fmt::format("tar {}: {}", describe(packed.ending), trimmed(packed.err)),
              "GNU tar is needed, and room for " + file.string());
}

}  // namespace

void fields(Fields& f, BundledFile& file) {
  f("path", file.path, "in the archive");
  f("bytes", file.bytes, "its size");
  f("sha256", file.sha256, "of its content");
  f.may("executable", file.executable, "whether it is a program");
}

void fields(Fields& f, BundleList& list) {
  f("schema", list.schema, "of this list");
  f("session", list.session, "its id");
  f("project", list.project, "its folder in the archive");
  f("chain", list.chain, "of the ledger's last line");
  f("files", list.files, "all others, sorted by their paths");
}

std::string list_text(const BundleList& list) { return indented(to_json_text(list)) + "\n"; }
std::string bundle_id(const std::string& text_of_list) { return sha256(text_of_list); }

std::vector<BundledFile> files_in(const fs::path& folder) {
  std::vector<BundledFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    if (entry.is_directory() && !entry.is_symlink()) continue;
    if (entry.is_symlink() || !entry.is_regular_file())
      throw Error(ErrorCode::invalid, path + " is no plain file");
    if (path == "bundle.json") continue;
    files.push_back({path, static_cast<std::int64_t>(entry.file_size()), sha256_of_file(entry.path()),
                     is_executable(entry.path())});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> changed_since(const Project& project, const SessionFolder& session) {
  const SessionView view = load_session(session);
  const auto now = environment_snapshot(project.directory).git;
  const auto then = view.environment ? view.environment->git : std::nullopt;
  if (now && then && now->commit == then->commit && now->dirty == false && then->dirty == false) return {};
  const ProjectTree tree = sources_of(project);
  const auto measured = fs::last_write_time(session.ledger());
  std::vector<std::string> changed;
  for (const std::string& file : tree.files) {
    if (fs::last_write_time(tree.root / file) > measured) changed.push_back(file);
  }
  return changed;
}

Bundle write_bundle(const Project& project, const SessionFolder& session, fs::path file) {
  const LedgerContent ledger = read_ledger(session.ledger());
  const SessionView view = view_session(session.id, ledger.records);
  if (!view.end)
    throw Error(ErrorCode::invalid, "session " + session.id + " has no verdict yet",
                "go on with it: dent resume");
  // Its baseline is a commit, which the manifest does not name.
  for (const char* command : {"ci", "bisect", "track"}) {
    if (view.session.command == command)
      throw Error(ErrorCode::invalid,
                  fmt::format("session {} is of dent {}, which compares commits", session.id, command),
                  "name a session of dent run: dent log lists them");
  }
  if (!same_project(view.session.manifest, project)) {
    throw Error(ErrorCode::invalid, "dent.toml has changed since session " + session.id,
                "measure the project as it is: dent run");
  }
  if (file.empty()) file = fmt::format("{}-{}.tar", project.name, session.id);
  const TemporaryFolder stage("dent-bundle");
  const ProjectTree tree = sources_of(project);
  put_session(session, stage.path() / "session");
  put_tree(tree, stage.path() / "tree");
  Bundle bundle{.file = file, .id = {}, .list = {}};
  bundle.list.session = session.id;
  bundle.list.project = ("tree" / tree.prefix).lexically_normal().string();
  bundle.list.chain = ledger.chain;
  bundle.list.files = files_in(stage.path());
  const std::string text = list_text(bundle.list);
  bundle.id = bundle_id(text);
  write_durably(stage.path() / "bundle.json", text);
  pack(stage.path(), file);
  return bundle;
}

}  // namespace dent
