// SPDX-License-Identifier: MIT
// Every way by which another author's manifest gets into dent, with every manifest that would do harm: each
// is refused by the key's name before anything is built. The page dent/docs/untrusted.md is the table of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "bundle/bundle.h"
#include "bundle/verify.h"
#include "cell/cell.h"
#include "loop/proposers/harness.h"
#include "project/harmful_manifests.h"
#include "project/manifest.h"
#include "project/strict_table.h"
#include "project/untrusted.h"
#include "session/dent_program.h"
#include "suites/imported.h"
#include "system/temporary_folder.h"

namespace dent::test::ways_in_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kGood = kHead + kKernel + kRest;

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

void put_sources(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* source : {"kernel.cpp", "plain.cpp"}) std::ofstream(folder / source) << "int scale;\n";
  std::ofstream(folder / "reference.py") << "def scale(x): return 2 * x\n";
}

struct Said {
  int code = 0;
  std::string text;
};
Said shell(const std::string& command) {
  const TemporaryFolder folder("dent-ways-in");
  const int status = std::system((command + " >" + quoted(folder.path() / "out") + " 2>&1").c_str());
  return {WEXITSTATUS(status), text_of(folder.path() / "out")};
}

bool anything_was_built(const fs::path& project) {
  return fs::exists(project / ".dent" / "sessions") && !fs::is_empty(project / ".dent" / "sessions");
}

// `reason`: what dent said of the manifest.
void expect_refused(const std::string& key, const std::string& reason) {
  EXPECT_NE(reason.find(": " + key), std::string::npos) << key << " is not named in: " << reason;
  EXPECT_NE(reason.find("refused in another author's manifest"), std::string::npos) << reason;
}

class WaysIn : public testing::Test {
 protected:
  void SetUp() override {
    if (const Cell cell(Sandbox::automatic); !cell.stands()) GTEST_SKIP() << cell.why_not();
  }
};

// The task writes the answer of its own reader, which both importers get in the same way.
TEST_F(WaysIn, AnImportedTask) {
  const TemporaryFolder folder("dent-ways-in");
  for (const auto& [key, manifest] : harmful_manifests()) {
    const ImportedTask task{.task = "t.py", .name = "relu", .files = {{"dent.toml", manifest}}};
    expect_refused(key, fault_of(task, folder.path() / "relu", {}));
  }
}

TEST_F(WaysIn, ABundle) {
  ScratchProject project;
  project.write_scale_manifest("right",
                               "[performance]\nseconds = 0.2\nsame_within = 0.5\nprecision = 0.9\n"
                               "baseline_within = 50\n[correctness]\nseeds = 1\n");
  project.dent({"run", "--without", "profile"});
  const TemporaryFolder folder("dent-ways-in");
  const fs::path packed = folder.path() / "b.tar", bundle = folder.path() / "bundle";
  const Project own = read_project(project.folder());
  write_bundle(own, SessionStore(own.directory).find("latest"), packed);
  fs::create_directories(bundle);
  unpack_bundle(packed, bundle);
  BundleList list = check_bundle(bundle).list;
  for (const auto& [key, manifest] : harmful_manifests()) {
    std::ofstream(bundle / list.project / kManifestName) << manifest;
    list.files = files_in(bundle);
    std::ofstream(bundle / "bundle.json") << list_text(list);
    shell(fmt::format("tar -C {} -cf {} bundle.json session tree", quoted(bundle), quoted(packed)));
    const Said said = shell(fmt::format("{} verify {}", DENT_PROGRAM, quoted(packed)));
    EXPECT_EQ(said.code, 2) << said.text;
    expect_refused(key, said.text);
  }
}

TEST_F(WaysIn, ASuite) {
  const TemporaryFolder folder("dent-ways-in");
  const auto manifests = harmful_manifests();
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    const fs::path project = folder.path() / fmt::format("{:02}", i);
    put_sources(project);
    std::ofstream(project / kManifestName) << manifests[i].second;
  }
  shell(fmt::format("{} suite run {}", DENT_PROGRAM, quoted(folder.path())));
  const Said said = shell(fmt::format("{} suite show {} --json", DENT_PROGRAM, quoted(folder.path())));
  const json rows = json::parse(said.text).at("rows");
  ASSERT_EQ(rows.size(), manifests.size());
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    expect_refused(manifests[i].first, rows[i].at("reason").get<std::string>());
    EXPECT_FALSE(anything_was_built(folder.path() / fmt::format("{:02}", i)));
  }
}

TEST_F(WaysIn, ARunHereAndElsewhere) {
  const TemporaryFolder folder("dent-ways-in");
  put_sources(folder.path());
  for (const auto& [key, manifest] : harmful_manifests()) {
    std::ofstream(folder.path() / kManifestName) << manifest;
    for (const char* where : {"", "--on local"}) {
      const Said said =
          shell(fmt::format("{} run --untrusted {} -p {}", DENT_PROGRAM, where, quoted(folder.path())));
      EXPECT_EQ(said.code, 2) << said.text;
      expect_refused(key, said.text);
    }
    EXPECT_FALSE(anything_was_built(folder.path()));
  }
}

// One server for each, as the manifest is changed behind its back.
TEST_F(WaysIn, AnAgentsServer) {
  const TemporaryFolder folder("dent-ways-in");
  put_sources(folder.path());
  const std::string call =
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})"
      "\n"
      R"({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "build", "arguments": {}}})"
      "\n";
  for (const auto& [key, manifest] : harmful_manifests()) {
    std::ofstream(folder.path() / kManifestName) << kGood;
    std::ofstream(folder.path() / "harmful") << manifest;
    std::ofstream(folder.path() / "call") << call;
    // The answer to the first line says that the server has seen the manifest.
    const Said said = shell(fmt::format(
        "cd {0} && {{ head -n 1 call; sleep 0.1; cp harmful dent.toml; tail -n 1 call; sleep 0.1; "
        "while [ ! -e answered ]; do sleep 0.02; done; rm answered; }} | {1} mcp -p {0} | "
        "while read -r line; do echo \"$line\"; case \"$line\" in *'\"id\":2'*) touch answered;; esac; done",
        quoted(folder.path()), DENT_PROGRAM));
    expect_refused(key, said.text);
    EXPECT_FALSE(anything_was_built(folder.path()));
  }
}

// What lies beside the manifest: programs that dent could start outside of the cell, and links where it
// writes.
class BesideTheManifest : public WaysIn {
 protected:
  void SetUp() override {
    WaysIn::SetUp();
    put_sources(folder_.path());
    std::ofstream(path("kernel.cpp")) << "extern \"C\" int scale(const void*) { return 0; }\n";
    fs::copy_file(path("kernel.cpp"), path("plain.cpp"), fs::copy_options::overwrite_existing);
    std::ofstream(path(kManifestName)) << kGood;
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  fs::path mark() const { return outside_.path() / "mark"; }
  void write_program(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
    fs::permissions(path(name), fs::perms::owner_all);
  }
  Said run(const std::string& options = "--untrusted") const {
    return shell(fmt::format("cd / && env -u DENT_PYTHON {} run {} --without performance -p {}", DENT_PROGRAM,
                             options, quoted(folder_.path())));
  }

  const TemporaryFolder folder_{"dent-ways-in"}, outside_{"dent-ways-in"};
};

TEST_F(BesideTheManifest, NoPythonOfTheFolderIsStarted) {
  write_program(".venv/bin/python",
                fmt::format("#!/bin/sh\ntouch {}\nexec python3 \"$@\"\n", quoted(mark())));
  run();
  EXPECT_FALSE(fs::exists(mark()));
  run("");  // of one's own project it is the interpreter
  EXPECT_TRUE(fs::exists(mark()));
}

TEST_F(BesideTheManifest, NoModuleOfTheFolderIsImportedOutsideOfTheCell) {
  write_program("numpy.py", fmt::format("open('{}', 'w')\n__version__ = '0'\n", mark().string()));
  run();
  EXPECT_FALSE(fs::exists(mark()));
}

TEST_F(BesideTheManifest, NoSettingOfItsRepositoryIsObeyed) {
  shell(
      fmt::format("cd {} && git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm one",
                  quoted(folder_.path())));
  write_program("monitor", fmt::format("#!/bin/sh\ntouch {}\nexit 1\n", quoted(mark())));
  shell(fmt::format("git -C {0} config core.fsmonitor {0}/monitor", quoted(folder_.path())));
  run();
  EXPECT_FALSE(fs::exists(mark()));
}

TEST_F(BesideTheManifest, NoLinkLeadsDentElsewhere) {
  fs::create_directories(path(".dent"));
  fs::create_directory_symlink(outside_.path(), path(".dent/build"));
  const Said said = run();
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find(".dent/build is a link"), std::string::npos) << said.text;
  EXPECT_TRUE(fs::is_empty(outside_.path()));
}

TEST_F(BesideTheManifest, NoNameOfAKernelIsAPath) {
  for (const char* name : {"\"/tmp/x\"", "\"../x\"", "\"..\"", "\".git\""}) {
    std::ofstream(path(kManifestName))
        << kGood << "[baseline." << name << "]\nsources = [\"plain.cpp\"]\nentry = \"scale\"\n";
    const Said said = run();
    EXPECT_EQ(said.code, 2) << said.text;
    EXPECT_NE(said.text.find("is no name"), std::string::npos) << said.text;
  }
}

// A change of any file that says how the kernel is judged.
TEST_F(WaysIn, AProposal) {
  const TemporaryFolder folder("dent-ways-in");
  put_sources(folder.path());
  std::ofstream(folder.path() / kManifestName) << kGood;
  const Project project = read_project(folder.path());
  Worktree::Change change;
  change.files = {kManifestName};
  change.lines = 1;
  EXPECT_EQ(refusal(change, {kManifestName}, project),
            "it changes dent.toml, which is part of what judges it");
}

// ---- the page ----

// Without the names and numbers that a manifest chooses: "baseline.plain.sources" as "baseline.*.sources".
std::string pattern_of(const std::string& key) {
  std::string plain = std::regex_replace(key, std::regex(R"(\[\d+\])"), "");
  for (const std::string table :
       {"baseline", "executor", "tunables", R"(operator\.inputs)", R"(operator\.outputs)"})
    plain = std::regex_replace(plain, std::regex("^(" + table + R"()\.[^.]+)"), "$1.*");
  // Numbers of a shape, which the operator names.
  return std::regex_replace(plain, std::regex(R"(^(.*shapes)\.(?!name$|weight$).*)"), "$1.*");
}

std::vector<std::string> words_of(const std::string& key) {
  std::vector<std::string> words;
  std::istringstream stream(key);
  for (std::string word; std::getline(stream, word, '.');) words.push_back(word);
  return words;
}

// Every key that dent asks a manifest for, while it reads those of this repository and one with the rest.
std::set<std::string> all_keys() {
  std::set<std::string> asked;
  StrictTable::note_asked_keys(&asked);
  const auto read = [](const std::string& text) {
    try {
      parse_project(text, fs::temp_directory_path());
    } catch (const Error&) {  // it asked for keys all the same
    }
  };
  for (const auto& entry : fs::recursive_directory_iterator(DENT_PROJECTS))
    if (entry.path().filename() == kManifestName) read(text_of(entry.path()));
  for (const char* kind : {"local", "ssh", "slurm", "command"})
    read(kGood +
         fmt::format("[executor.one]\nkind = \"{}\"\n[executor.one.machine]\nstart = \"true\"\n", kind));
  read(kGood +
       "[correctness]\nseeds = 1\n[performance]\nseconds = 1\n[limits]\nmemory_gib = 1\n"
       "[budget]\nminutes = 1\n[rates]\ndevice_usd_per_hour = 1\n[optimize]\npatch_lines = 9\n");
  read(kGood + "[baseline.other]\nsources = [\"plain.cpp\"]\nentry = \"scale\"\nlaunch = {}\n");
  for (const auto& [key, manifest] : harmful_manifests()) read(manifest);
  StrictTable::note_asked_keys(nullptr);
  std::set<std::string> patterns;
  for (const std::string& key : asked) patterns.insert(pattern_of(key));
  return patterns;
}

std::string cell_of(Wall wall, const char* visible) {
  switch (wall) {
    case Wall::open:
      return "allowed";
    case Wall::inside:
      return "in the project";
    case Wall::flags:
      return "plain options";
    case Wall::visible:
      return visible;
    case Wall::closed:
      break;
  }
  return "refused";
}

std::string page() {
  std::string text =
      "# What another author's manifest may say\n\n"
      "dent runs projects that other people wrote: imported tasks, bundles, suites, and projects that an "
      "agent\n"
      "edits. Their `dent.toml` may say what to compute. It may not say what that code can see, which "
      "programs\n"
      "start, or which walls stand. A key that is refused is named, and nothing is built.\n\n"
      "- *in the project*: a path that leads out of the project, also by a link, is refused.\n"
      "- *plain options*: options that name no file and load nothing, such as `-O3` or `-DTILE=4`.\n"
      "- `${VARIABLE}` is refused under every key: it would read the environment.\n"
      "- *import*: `dent import kernelbench` and `dent import flashinfer`. *verify*: `dent verify` without "
      "`--trust`.\n"
      "  *suite*: `dent suite run` without `--trust`. *run*: `dent run --untrusted`, with and without "
      "`--on`.\n"
      "- *MCP*: `dent mcp` allows each value that the manifest had when the server was started, and beyond "
      "that\n"
      "  what the column says.\n"
      "- A *proposal* (`dent optimize`, `dent evaluate`, the tool `evaluate`) may not change `dent.toml` at "
      "all.\n\n"
      "A test writes this table from the rules, and tries each refusal in each way with a manifest that "
      "would do\n"
      "harm (`WaysIn.*`). A key that dent reads and that has no rule fails the test.\n\n"
      "| key | import | verify | suite, run | MCP | proposal | because |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const std::string& key : all_keys()) {
    const WallRule* rule = wall_of(words_of(key));
    // Tables themselves, whose keys have rules of their own.
    if (rule == nullptr) continue;
    text += fmt::format("| `{}` | {} | {} | {} | {} | refused | {} |\n", key,
                        cell_of(rule->wall, "the trace set"), cell_of(rule->wall, "refused"),
                        cell_of(rule->wall, "`--visible`"), cell_of(rule->wall, "refused"), rule->why);
  }
  return text;
}

TEST(WaysInPage, IsWhatTheRulesSay) {
  const fs::path file = fs::path(DENT_PROJECTS) / "docs" / "untrusted.md";
  const std::string now = page();
  if (std::getenv("DENT_UPDATE_PAGES") != nullptr) std::ofstream(file) << now;
  EXPECT_EQ(text_of(file), now) << "DENT_UPDATE_PAGES=1 writes it anew";
}

// A table stands for its keys: only what has keys below it may be without a rule.
TEST(WaysInPage, EveryKeyHasARow) {
  const std::set<std::string> keys = all_keys();
  EXPECT_GT(keys.size(), 80U);
  for (const std::string& key : keys) {
    if (wall_of(words_of(key)) != nullptr) continue;
    const auto below = keys.lower_bound(key + ".");
    const bool is_table = below != keys.end() && below->starts_with(key + ".");
    EXPECT_TRUE(is_table) << key << " has no rule in project/untrusted.cpp";
  }
}

}  // namespace
}  // namespace dent::test::ways_in_test
