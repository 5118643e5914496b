// SPDX-License-Identifier: MIT
#include "project/stranger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "project/manifest.h"
#include "project/strict_table.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommand = "it is a command that would run outside of the cell";
constexpr std::string_view kFile = "it names files: a stranger's have to lie in the project";
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

// Options that read no file, write none and load nothing: what names a file has a slash or an equals sign,
// and what goes to another program (-Wl,) a comma.
bool is_plain_flag(const std::string& flag) {
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
  if (flag.find_first_of("/@") != std::string::npos) return false;
  if (std::ranges::any_of(kWithValue, begins)) return true;
  return flag.find_first_of("=,") == std::string::npos && std::ranges::any_of(kWords, begins);
}

}  // namespace

const std::vector<WallRule>& stranger_rules() {
  static const std::vector<WallRule> rules = [] {
    std::vector<WallRule> all = {
        {"version", Wall::open, ""},
        {"name", Wall::open, ""},
        {"interpreter", Wall::closed, "it names a program to start"},
        {"sandbox", Wall::closed, "a stranger's code runs in a cell"},
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

void check_strangers_manifest(std::string_view text, const fs::path& directory, const fs::path& root,
                              const std::vector<fs::path>& named) {
  for (const ManifestValue& value : every_value(text, kManifestName)) {
    const std::string key = fmt::format("{}", fmt::join(value.path, "."));
    const auto refuse = [&](std::string_view why, const std::string& what) {
      throw Error(ErrorCode::invalid,
                  fmt::format("{}, line {}: {}{}: refused in another author's project: {}", kManifestName,
                              value.line, key, what.empty() ? "" : " = \"" + what + "\"", why),
                  "read the manifest; where you trust its author, run the project as one of your own (dent "
                  "verify --trust)");
    };
    const auto& rules = stranger_rules();
    const auto rule =
        std::ranges::find_if(rules, [&](const WallRule& one) { return fits(one.key, value.path); });
    if (rule == rules.end()) refuse("there is no rule for it", "");
    if (rule->wall == Wall::closed) refuse(rule->why, "");
    for (const std::string& word : value.texts) {
      if (word.find("${") != std::string::npos) refuse("it would read the environment", word);
      if (rule->wall == Wall::inside && !leads_into(root, directory / word)) refuse(rule->why, word);
      if (rule->wall == Wall::flags && !is_plain_flag(word)) refuse(rule->why, word);
      const auto holds = [&](const fs::path& folder) { return leads_into(folder, directory / word); };
      if (rule->wall == Wall::visible && std::ranges::none_of(named, holds)) refuse(rule->why, word);
    }
  }
}

Project read_strangers_project(const fs::path& directory, const fs::path& root) {
  const auto text = read_text(directory / kManifestName);
  if (!text) throw Error(ErrorCode::invalid, "no manifest " + (directory / kManifestName).string());
  if (!leads_into(root, directory / kManifestName))
    throw Error(ErrorCode::invalid,
                fmt::format("{} leads out of the project", (directory / kManifestName).string()));
  check_strangers_manifest(*text, directory, root);
  Project project = read_project(directory);
  project.sandbox = Sandbox::required;
  return project;
}

}  // namespace dent
