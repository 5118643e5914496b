// SPDX-License-Identifier: MIT
// A session in an archive: the same bytes for the same content, and every change of it is named.
#include "bundle/bundle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "bundle/verify.h"
#include "project/manifest.h"
#include "session/dent_program.h"
#include "system/temporary_folder.h"

namespace dent::test::bundle_test {
namespace {

namespace fs = std::filesystem;

const std::string kQuick =
    "[performance]\nseconds = 0.2\nsame_within = 0.5\nprecision = 0.9\nbaseline_within = 50\n"
    "[correctness]\nseeds = 1\n";

// Measured once for all tests.
const ScratchProject& measured() {
  static const ScratchProject* project = [] {
    static const ScratchProject one;
    one.write_scale_manifest("right", kQuick);
    one.write("notes.txt", "what the kernel is for\n");
    one.write("build.sh", "#!/bin/sh\n");
    fs::permissions(one.folder() / "build.sh", fs::perms::owner_all);
    EXPECT_NE(one.dent({"run", "--without", "profile"}).code, 2) << one.read("stderr");
    fs::remove(one.folder() / "stdout");
    fs::remove(one.folder() / "stderr");
    return &one;
  }();
  return *project;
}

Bundle bundled(const fs::path& file) {
  const Project project = read_project(measured().folder());
  return write_bundle(project, SessionStore(project.directory).find("latest"), file);
}

// Unpacked, to be tampered with.
class Unpacked {
 public:
  Unpacked() {
    bundled(pack_.path() / "b.tar");
    unpack_bundle(pack_.path() / "b.tar", folder_.path());
  }
  fs::path operator/(const std::string& path) const { return folder_.path() / path; }
  std::string faults() const {
    std::string text;
    for (const std::string& fault : check_bundle(folder_.path()).faults) text += fault + "\n";
    return text;
  }
  void write(const std::string& path, const std::string& text) const { std::ofstream(*this / path) << text; }
  // As somebody would who knows how a bundle is made.
  void list_anew() const {
    BundleList list = check_bundle(folder_.path()).list;
    list.files = files_in(folder_.path());
    write("bundle.json", list_text(list));
  }
  std::string project() const { return check_bundle(folder_.path()).list.project; }
  void pack(const std::string& file) const {
    EXPECT_EQ(std::system(
                  fmt::format("tar -C '{}' -cf '{}' bundle.json session tree", folder_.path().string(), file)
                      .c_str()),
              0);
  }

 private:
  TemporaryFolder pack_{"dent-bundle-test"}, folder_{"dent-bundle-test"};
};

TEST(Bundle, TheSameContentGivesTheSameBytes) {
  const TemporaryFolder folder("dent-bundle-test");
  const Bundle first = bundled(folder.path() / "a.tar");
  fs::last_write_time(measured().folder() / "notes.txt", fs::file_time_type::clock::now());
  const mode_t before = umask(077);
  const Bundle second = bundled(folder.path() / "b.tar");
  umask(before);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(sha256_of_file(first.file), sha256_of_file(second.file));
  std::vector<std::string> paths;
  for (const BundledFile& file : first.list.files) {
    paths.push_back(file.path);
    EXPECT_EQ(file.executable, file.path == "tree/build.sh") << file.path;
  }
  for (const char* path : {"session/ledger.jsonl", "session/report.json", "tree/dent.toml", "tree/notes.txt"})
    EXPECT_NE(std::find(paths.begin(), paths.end(), path), paths.end()) << path;
}

// dent bundle writes into the present folder, which often is the project's.
TEST(Bundle, EarlierOnesAreNoSources) {
  const TemporaryFolder elsewhere("dent-bundle-test");
  const fs::path earlier = measured().folder() / "earlier.tar";
  const Bundle first = bundled(earlier);
  fs::last_write_time(earlier, fs::file_time_type::clock::now() + std::chrono::hours(1));
  const Project project = read_project(measured().folder());
  const auto changed = changed_since(project, SessionStore(project.directory).find("latest"));
  EXPECT_EQ(std::find(changed.begin(), changed.end(), "earlier.tar"), changed.end());
  EXPECT_EQ(bundled(elsewhere.path() / "next.tar").id, first.id);
  fs::remove(earlier);
}

TEST(Bundle, IntactHasNoFault) { EXPECT_EQ(Unpacked().faults(), ""); }

TEST(Bundle, EveryChangeIsNamed) {
  const Unpacked bundle;
  for (const BundledFile& file : check_bundle(bundle / "").list.files) {
    const std::string before = text_of(bundle / file.path);
    if (before.empty()) continue;
    std::string after = before;
    after[after.size() / 2] = static_cast<char>(after[after.size() / 2] ^ 1);
    bundle.write(file.path, after);
    EXPECT_NE(bundle.faults().find(file.path), std::string::npos) << file.path;
    bundle.write(file.path, before);
  }
  EXPECT_EQ(bundle.faults(), "");
  bundle.write("tree/more.txt", "x");
  EXPECT_EQ(bundle.faults(), "tree/more.txt is not listed: it was added\n");
  fs::remove(bundle / "tree/more.txt");
  fs::create_symlink("/etc/passwd", bundle / "tree/link");
  EXPECT_NE(bundle.faults().find("tree/link is no plain file"), std::string::npos);
  fs::remove(bundle / "tree/link");
  fs::remove(bundle / "tree/notes.txt");
  EXPECT_EQ(bundle.faults(), "tree/notes.txt is missing\n");
}

// Whoever lists the files anew still has the ledger's chain against him, and the id that was published.
TEST(Bundle, ALedgerThatWasEditedDoesNotFitItsChain) {
  const Unpacked bundle;
  const std::string id = check_bundle(bundle / "").id;
  std::string ledger = text_of(bundle / "session/ledger.jsonl");
  const std::size_t at = ledger.find("\"elapsed_s\":");
  ASSERT_NE(at, std::string::npos);
  ledger[at + 12] = ledger[at + 12] == '1' ? '2' : '1';
  bundle.write("session/ledger.jsonl", ledger);
  bundle.list_anew();
  EXPECT_NE(bundle.faults().find("the hash chain is broken"), std::string::npos) << bundle.faults();
  EXPECT_NE(check_bundle(bundle / "").id, id);
}

// It would be measured in the bundle's place.
TEST(Bundle, AProjectOutsideOfItIsNoticed) {
  const Unpacked bundle;
  BundleList list = check_bundle(bundle / "").list;
  for (const std::string& project : {measured().folder().string(), std::string("tree/../../here")}) {
    list.project = project;
    bundle.write("bundle.json", list_text(list));
    EXPECT_EQ(bundle.faults(), project + " is named as the project, and no such one is listed\n");
  }
}

TEST(Bundle, AReportThatSaysOtherThanTheLedgerIsNoticed) {
  const Unpacked bundle;
  const std::string verdict =
      load_session({"x", bundle / "session"}).verdict == Verdict::cheat ? "SAME" : "CHEAT";
  bundle.write("session/report.json", "{\"verdict\": \"" + verdict + "\"}");
  bundle.list_anew();
  EXPECT_NE(bundle.faults().find("the report says other than the ledger"), std::string::npos)
      << bundle.faults();
}

TEST(Bundle, WhatIsNoArchiveIsRefused) {
  const TemporaryFolder folder("dent-bundle-test");
  std::ofstream(folder.path() / "x.tar") << "nonsense";
  try {
    unpack_bundle(folder.path() / "x.tar", folder.path());
    ADD_FAILURE() << "it was unpacked";
  } catch (const Error& problem) {
    EXPECT_NE(std::string(problem.what()).find("does not look like a tar archive"), std::string::npos)
        << problem.what();
  }
  EXPECT_THROW(unpack_bundle(folder.path() / "none.tar", folder.path()), Error);
  EXPECT_THROW(check_bundle(folder.path()), Error);
}

SessionView on(const std::string& cpu, const std::string& system) {
  SessionView view;
  view.environment.emplace();
  view.environment->system = system;
  view.environment->cpu.model = cpu;
  return view;
}

TEST(Verify, OtherHardwareIsToldFromAnotherSystem) {
  EXPECT_TRUE(difference_between(on("A", "Linux 6"), on("A", "Linux 6")).words.empty());
  const auto system = difference_between(on("A", "Linux 6"), on("A", "Linux 7"));
  EXPECT_TRUE(system.same_hardware);
  EXPECT_EQ(system.words, std::vector<std::string>{"system: Linux 6 there, Linux 7 here"});
  const auto hardware = difference_between(on("A", "Linux 6"), on("B", "Linux 6"));
  EXPECT_FALSE(hardware.same_hardware);
  EXPECT_EQ(hardware.words, std::vector<std::string>{"processor: A there, B here"});
}

Ran dent(const std::string& words) {
  const TemporaryFolder folder("dent-bundle-test");
  const fs::path out = folder.path() / "out", err = folder.path() / "err";
  const Finished finished = run({.argv = {"/bin/sh", "-c",
                                          std::string("'") + DENT_PROGRAM + "' " + words + " >'" +
                                              out.string() + "' 2>'" + err.string() + "'"}},
                                240);
  return {finished.ending.code, text_of(out), text_of(err)};
}

TEST(Verify, MeasuresAgainAndSaysWhatDiffers) {
  const TemporaryFolder folder("dent-bundle-test");
  const std::string file = (folder.path() / "b.tar").string();
  const Ran made = dent("bundle --anyway --json -p '" + measured().folder().string() + "' -o '" + file + "'");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string id = made.json().at("id");

  const Ran checked = dent("verify '" + file + "' --only-check --id " + id.substr(0, 12));
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("nothing of it was run"), std::string::npos) << checked.out;
  const Ran other = dent("verify '" + file + "' --only-check --id 0000 --json");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.json().at("verdict"), "TAMPERED");

  const Ran again = dent("verify '" + file + "' --trust --json");
  const auto document = again.json();
  EXPECT_EQ(again.code, document.at("exit_code")) << again.err;
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_EQ(document.at("same_hardware"), true) << document.at("differs");
  EXPECT_NE(document.at("reason").get<std::string>().find("right here too"), std::string::npos)
      << document.at("reason");
  EXPECT_EQ(document.at("here").at("session").at("command"), "verify");
}

// Its code would have seen the folder, and could have sent what lies there out through outputs, logs and the
// report.
TEST(Verify, AStrangersManifestShowsItsCodeNothing) {
  const TemporaryFolder folder("dent-bundle-test");
  const std::string file = (folder.path() / "b.tar").string();
  const Unpacked bundle;
  const std::string manifest = bundle.project() + "/dent.toml";
  bundle.write(manifest, "visible = [\"/home\"]\n" + text_of(bundle / manifest));
  bundle.list_anew();
  bundle.pack(file);
  const Ran ran = dent("verify '" + file + "'");
  if (ran.code == 3) GTEST_SKIP() << "no cell here: " << ran.err;
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("visible = \"/home\": refused"), std::string::npos) << ran.err;
}

TEST(Verify, WithoutACellItSaysHowToTrust) {
  const TemporaryFolder folder("dent-bundle-test");
  const fs::path file = folder.path() / "b.tar";
  bundled(file);
  setenv("DENT_BWRAP", "/no/such/bwrap", 1);
  const Ran ran = dent("verify '" + file.string() + "'");
  unsetenv("DENT_BWRAP");
  EXPECT_EQ(ran.code, 3) << ran.out;
  EXPECT_NE(ran.err.find("dent verify --trust"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("dent.toml"), std::string::npos) << "the manifest is the stranger's: " << ran.err;
}

TEST(BundleCommand, RefusesSourcesThatAreNewerThanTheSession) {
  const ScratchProject& project = measured();
  fs::last_write_time(project.folder() / "notes.txt",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  const Ran ran = dent("bundle -p '" + project.folder().string() + "' -o /dev/null");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("notes.txt"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace dent::test::bundle_test
