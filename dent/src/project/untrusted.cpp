// SPDX-License-Identifier: MIT
#include "project/untrusted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "project/manifest.h"
#include "project/strict_table.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr const char *kRoot = "DENT_UNTRUSTED", *kFolders = "DENT_VISIBLE", *kSeen = "DENT_SEEN_MANIFEST";
constexpr std::size_t kShown = 120;  // characters of a value, in a message
constexpr std::string_view kCommand = "it is a command that would run outside of the cell";
constexpr std::string_view kFile = "it names files outside of the project";
constexpr std::string_view kFlag = "options that name files or load plugins are refused";

// "a.b" as {"a", "b"}.
std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t dot = std::min(key.find('.', at), key.size());
    words.push_back(key.substr(at, dot - at));
    at = dot + 1;
  }
  return words;
}

bool fits(std::string_view pattern, const std::vector<std::string>& path) {
  const std::vector<std::string_view> words = words_of(pattern);
  if (words.back() == "*" ? path.size() < words.size() : path.size() != words.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] != "*" && words[i] != path[i]) return false;
  return true;
}

// Where a path leads, links followed, as far as there is something.
bool leads_into(const fs::path& root, const fs::path& path) {
  std::error_code problem;
  const fs::path real_root = fs::weakly_canonical(root, problem);
  const fs::path real = fs::weakly_canonical(path, problem);
  if (problem) return false;
  const auto [end, ignored] = std::mismatch(real_root.begin(), real_root.end(), real.begin(), real.end());
  return end == real_root.end();
}

// By its words alone.
bool lies_in(const fs::path& root, const fs::path& path) {
  const fs::path plain = path.lexically_normal().lexically_relative(root.lexically_normal());
  return !plain.empty() && *plain.begin() != "..";
}

// What comes with the project may have links where dent writes.
void refuse_links_in(const fs::path& records) {
  const auto look = [](const fs::path& folder, const auto& each) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (entry.is_symlink())
        throw Error(ErrorCode::invalid,
                    fmt::format("{} is a link: dent would write where it leads", entry.path().string()),
                    "remove it");
      each(entry.path());
    }
  };
  look(records, [&](const fs::path& folder) { look(folder, [](const fs::path&) {}); });
}

// Options that read no file, write none and load nothing: what names a file has a slash or an equals sign,
// and what goes to another program (-Wl,) a comma.
bool is_plain_flag(const std::string& flag) {
  if (flag.find_first_of("/@") != std::string::npos) return false;
  if (flag.starts_with("-D") || flag.starts_with("-U")) return flag.size() > 2;
  constexpr std::array kWithValue = {"-std=",           "-march=",
                                     "-mtune=",         "-mcpu=",
                                     "-ffp-contract=",  "-fvect-cost-model=",
                                     "-arch=",          "arch=",
                                     "-gencode=arch=",  "--ftz=",
                                     "--fmad=",         "--prec-div=",
                                     "--prec-sqrt=",    "-maxrregcount=",
                                     "--maxrregcount=", "-mprefer-vector-width="};
  constexpr std::array kWords = {"-O",
                                 "-f",
                                 "-m",
                                 "-g",
                                 "-W",
                                 "-lineinfo",
                                 "--use_fast_math",
                                 "-use_fast_math",
                                 "-gencode",
                                 "-pthread",
                                 "--expt-relaxed-constexpr",
                                 "--expt-extended-lambda",
                                 "--extended-lambda"};
  const auto begins = [&](const char* with) { return flag.starts_with(with); };
  if (std::ranges::any_of(kWithValue, begins)) return true;
  return flag.find_first_of("=,") == std::string::npos && std::ranges::any_of(kWords, begins);
}

}  // namespace

const std::vector<WallRule>& manifest_walls() {
  static const std::vector<WallRule> rules = [] {
    std::vector<WallRule> all = {
        {"version", Wall::open, ""},
        {"name", Wall::open, ""},
        {"interpreter", Wall::closed, "it names a program to start"},
        {"sandbox", Wall::closed, "another author's code runs in a cell"},
        {"visible", Wall::visible, "it would show the code what lies outside of the project"},
        {"shapes.*", Wall::open, ""},
        {"tunables.*", Wall::open, ""},
        {"correctness.*", Wall::open, ""},
        {"performance.*", Wall::open, ""},
        {"limits.*", Wall::open, ""},
        {"budget.*", Wall::open, ""},
        {"rates.*", Wall::open, ""},
        {"operator.reference.library", Wall::inside, kFile},
        {"operator.reference.source", Wall::inside, kFile},
        {"operator.*", Wall::open, ""},
        {"optimize.command", Wall::closed, kCommand},
        {"optimize.command_seconds", Wall::closed, kCommand},
        {"optimize.command_sandbox", Wall::closed, "it would open the cell of a command"},
        {"optimize.command_network", Wall::closed, "it would open the network"},
        {"optimize.command_paths", Wall::closed, "it would show a command what lies outside of the project"},
        {"optimize.command_env", Wall::closed, "it would hand on the environment"},
        {"optimize.files", Wall::inside, kFile},
        {"optimize.protect", Wall::inside, kFile},
        {"optimize.*", Wall::open, ""},
        {"executor.*", Wall::closed, "it names machines and commands"},
    };
    // A candidate, what it is compared with, and its variants have the same keys.
    static constexpr std::array<WallRule, 15> kKernel = {{
        {"sources", Wall::inside, kFile},
        {"library", Wall::inside, kFile},
        {"include", Wall::inside, kFile},
        {"flags", Wall::flags, kFlag},
        {"link", Wall::closed, "it would link what lies outside of the project"},
        {"build", Wall::closed, kCommand},
        {"entry", Wall::open, ""},
        {"setup", Wall::open, ""},
        {"python", Wall::open, ""},
        {"device", Wall::open, ""},
        {"launch.*", Wall::open, ""},
        {"tunables", Wall::open, ""},
        {"name", Wall::open, ""},
        {"phase", Wall::open, ""},
        {"about", Wall::open, ""},
    }};
    static std::vector<std::string> keys;  // what the views below look at
    keys.reserve(3 * kKernel.size());
    for (const char* owner : {"kernel.", "variants.", "baseline.*."}) {
      for (const WallRule& rule : kKernel) {
        keys.push_back(owner + std::string(rule.key));
        all.push_back({keys.back(), rule.wall, rule.why});
      }
    }
    return all;
  }();
  return rules;
}

const WallRule* wall_of(const std::vector<std::string>& key) {
  const auto& walls = manifest_walls();
  const auto found = std::ranges::find_if(walls, [&](const WallRule& one) { return fits(one.key, key); });
  return found == walls.end() ? nullptr : &*found;
}

void check_untrusted_manifest(std::string_view text, const fs::path& directory, const Vouched& vouched) {
  std::vector<ManifestValue> seen;
  if (vouched.manifest) seen = every_value(*vouched.manifest, kManifestName);
  for (const ManifestValue& value : every_value(text, kManifestName)) {
    const std::string key = fmt::format("{}", fmt::join(value.path, "."));
    const auto refuse = [&](std::string_view why, const std::string& what) {
      throw Error(
          ErrorCode::invalid,
          fmt::format("{}, line {}: {}{}: refused in another author's manifest: {}", kManifestName,
                      value.line, key, what.empty() ? "" : " = \"" + printable(what, kShown) + "\"", why),
          vouched.manifest
              ? "undo the change; or, if you made it yourself, start dent mcp again"
              : "read the manifest; if you trust its author, add --trust (dent verify, dent suite run) or "
                "leave out --untrusted (dent run)");
    };
    const auto is_seen = [&](const ManifestValue& other) {
      return other.path == value.path && other.written == value.written;
    };
    const WallRule* rule = wall_of(value.path);
    if (std::ranges::any_of(seen, is_seen)) {
      // What it names may have become a link since then.
      for (const std::string& word : value.texts) {
        const bool of_files = rule != nullptr && (rule->wall == Wall::inside || rule->wall == Wall::visible);
        if (of_files && lies_in(vouched.root, directory / word) &&
            !leads_into(vouched.root, directory / word))
          refuse("a link in the project leads out of it", word);
      }
      continue;
    }
    if (rule == nullptr) refuse("there is no rule for it", "");
    if (rule->wall == Wall::closed) refuse(rule->why, "");
    for (const std::string& word : value.texts) {
      if (word.find("${") != std::string::npos) refuse("it would read the environment", word);
      if (rule->wall == Wall::inside && !leads_into(vouched.root, directory / word)) refuse(rule->why, word);
      if (rule->wall == Wall::flags && !is_plain_flag(word)) refuse(rule->why, word);
      const auto holds = [&](const fs::path& folder) { return leads_into(folder, directory / word); };
      if (rule->wall == Wall::visible && std::ranges::none_of(vouched.folders, holds))
        refuse(rule->why, word);
    }
  }
}

Project read_untrusted_project(const fs::path& directory, const Vouched& vouched) {
  const auto text = read_text(directory / kManifestName);
  if (!text) throw Error(ErrorCode::invalid, "no manifest " + (directory / kManifestName).string());
  if (!leads_into(vouched.root, directory / kManifestName))
    throw Error(ErrorCode::invalid,
                fmt::format("{} leads out of the project", (directory / kManifestName).string()));
  check_untrusted_manifest(*text, directory, vouched);
  refuse_links_in(directory / ".dent");
  Project project = parse_project(*text, directory);
  if (!vouched.manifest) project.sandbox = Sandbox::required;
  take_tuned(project);
  return project;
}

std::vector<std::pair<std::string, std::string>> untrusted_environment(const fs::path& root,
                                                                       const std::vector<fs::path>& folders,
                                                                       const fs::path& manifest) {
  std::string named;
  for (const fs::path& folder : folders) named += (named.empty() ? "" : ":") + fs::absolute(folder).string();
  std::vector<std::pair<std::string, std::string>> variables{
      {kRoot, fs::absolute(root).string()}, {kFolders, named}, {kSeen, manifest.string()}};
  // The settings of a repository name programs that git starts.
  if (manifest.empty()) variables.emplace_back("GIT_DIR", "/nonexistent");
  return variables;
}

void read_all_as_untrusted(const fs::path& root, const std::vector<fs::path>& folders) {
  for (const auto& [name, value] : untrusted_environment(root, folders))
    setenv(name.c_str(), value.c_str(), 1);
}

bool reads_untrusted() {
  const auto vouched = vouched_by_environment();
  return vouched && !vouched->manifest;
}

std::optional<Vouched> vouched_by_environment() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  Vouched vouched{.root = value(kRoot)};
  if (vouched.root.empty()) return std::nullopt;
  std::istringstream folders(value(kFolders));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty()) vouched.folders.emplace_back(folder);
  if (const std::string seen = value(kSeen); !seen.empty()) vouched.manifest = text_of(seen);
  return vouched;
}

}  // namespace dent
