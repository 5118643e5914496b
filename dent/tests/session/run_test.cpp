// SPDX-License-Identifier: MIT
// Whole sessions: verdicts, exit codes, JSON, and what lies on disk afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/text.h"
#include "cell/bubblewrap.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::run_test {
namespace {

using test::Ran;
using test::ScratchProject;

const std::string kQuick =
    "[performance]\nprofile_below = 0.001\nseconds = 0.3\nsame_within = 0.5\nprecision = "
    "0.5\nbaseline_within = 20\n";

nlohmann::json run_json(const ScratchProject& project, std::vector<std::string> arguments,
                        int expected_code) {
  arguments.push_back("--json");
  const Ran ran = project.dent(arguments);
  EXPECT_EQ(ran.code, expected_code) << ran.out << ran.err;
  const auto document = ran.json();
  EXPECT_TRUE(document.is_object()) << ran.out;
  if (!document.is_object()) return nlohmann::json::object();
  EXPECT_EQ(document.value("schema", 0), 1);
  return document;
}

Ran expect_every_gate(const ScratchProject& project) {
  project.write_scale_manifest("right", kQuick);
  const Ran ran = project.dent({"run", "--json"});
  EXPECT_TRUE(ran.json().is_object()) << ran.out << ran.err;
  const auto session = SessionStore(project.folder()).find("latest");
  std::map<std::string, int> gates;
  for (const Record& record : read_ledger(session.ledger()).records) {
    if (const auto* gate = record.as<record::Gate>()) ++gates[gate->step];
  }
  const std::map<std::string, int> expected{{"preflight", 1},         {"build", 1},
                                            {"baseline", 1},          {"correctness/tiny", 1},
                                            {"correctness/small", 1}, {"performance/tiny", 1},
                                            {"performance/small", 1}, {"performance", 1},
                                            {"profile", 1},           {"report", 1}};
  EXPECT_EQ(gates, expected);
  for (const char* file : {"report.md", "report.html", "report.json", "ledger.jsonl"}) {
    EXPECT_TRUE(std::filesystem::exists(session.folder / file)) << file;
  }
  EXPECT_NE(ran.err.find("[ 1/10] preflight"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("\x1b"), std::string::npos) << "no colours off a terminal";
  return ran;
}

TEST(DentRun, TakesAKernelThroughEveryGate) {
  const Ran ran = expect_every_gate(ScratchProject());
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.json().value("verdict", ""), "SAME") << ran.out;
}

// By a real clock the speed of two copies of one kernel may stay open, or look different, on a busy machine;
// they are never wrong, never a cheat.
TEST(DentRun, TakesAKernelThroughEveryGateByARealClock) {
  const Ran ran = expect_every_gate(ScratchProject(DENT_REAL));
  EXPECT_TRUE(ran.code == 0 || ran.code == 8 || ran.code == 6 || ran.code == 15) << ran.out << ran.err;
}

TEST(DentRun, HasAnExitCodeForEachWayToFail) {
  const std::map<std::string, std::pair<int, std::string>> failures{
      {"wrong", {5, "INCORRECT"}},   {"crashes", {5, "INCORRECT"}}, {"leaves", {5, "INCORRECT"}},
      {"babbles", {5, "INCORRECT"}}, {"refuses", {5, "INCORRECT"}}, {"overruns", {5, "INCORRECT"}},
      {"hangs", {10, "TIMEOUT"}}};
  for (const auto& [entry, expected] : failures) {
    const ScratchProject project;
    project.write_scale_manifest(entry, "[limits]\ncall_seconds = 2\n");
    const auto document = run_json(project, {"check"}, expected.first);
    EXPECT_EQ(document.value("verdict", ""), expected.second) << entry << document.dump(1);
    EXPECT_FALSE(document.value("reason", "").empty()) << entry;
  }
}

// Which walls stood is on record; where there can be no cell, that is said once, or is an error.
TEST(DentRun, SaysWhichWallsStoodAroundTheKernel) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  const auto walls = [&] {
    for (const Record& record : read_ledger(SessionStore(project.folder()).find("latest").ledger()).records) {
      if (const auto* environment = record.as<record::Environment>()) return environment->walls;
    }
    return std::vector<std::string>();
  };
  const auto notes = [&] {
    std::string all;
    for (const Record& record : read_ledger(SessionStore(project.folder()).find("latest").ledger()).records) {
      if (const auto* note = record.as<record::Note>()) all += note->text + "\n";
    }
    return all;
  };
  if (bubblewrap().why_not.empty()) {
    EXPECT_EQ(project.dent({"check", "-s", "tiny"}).code, 0);
    ASSERT_EQ(walls().size(), 3U);
    EXPECT_EQ(walls().front(), "cell: bubblewrap " + bubblewrap().version);
    EXPECT_EQ(notes(), "");
  }
  setenv("DENT_BWRAP", "/no/such/bwrap", 1);
  EXPECT_EQ(project.dent({"check", "-s", "tiny"}).code, 0);
  EXPECT_EQ(walls().front(), "cell: none: /no/such/bwrap can't be run");
  EXPECT_NE(notes().find("without a cell"), std::string::npos) << notes();
  setenv("DENT_SANDBOX", "required", 1);
  const Ran refused = project.dent({"check", "-s", "tiny"});
  EXPECT_EQ(refused.code, 3) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("install bubblewrap"), std::string::npos) << refused.out << refused.err;
  setenv("DENT_SANDBOX", "off", 1);
  EXPECT_EQ(project.dent({"check", "-s", "tiny"}).code, 0);
  EXPECT_EQ(notes(), "");
  unsetenv("DENT_SANDBOX");
  unsetenv("DENT_BWRAP");
}

// A limit on the size of files is met by the ledger first: an error of the environment, not a death by
// SIGXFSZ.
TEST(DentRun, AFileThatMayNotGrowIsAnErrorWithAMessage) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  const Ran ran = project.dent({"check", "-q"}, 60, "ulimit -f 4;");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("error: "), std::string::npos) << ran.err;
}

// A forged figure is not printed by any command that reads records, and each says which one it is.
TEST(DentRun, AnEditedLedgerIsNamedByEveryCommandThatReadsIt) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  ASSERT_EQ(project.dent({"check", "-q"}).code, 0);
  const auto session = SessionStore(project.folder()).find("latest");
  std::string text = text_of(session.ledger());
  const auto at = text.find("\"max_error\":");
  ASSERT_NE(at, std::string::npos);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  text.replace(at + 12, 1, "7");
  std::ofstream(session.ledger(), std::ios::binary) << text;
  const std::string which =
      "record " + std::to_string(line) + " (correctness of correctness/tiny) was edited";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"show"}, {"report"}, {"resume"}, {"show", "--json"}}) {
    const Ran ran = project.dent(command);
    EXPECT_EQ(ran.code, 2) << command[0] << ran.out << ran.err;
    EXPECT_NE(ran.err.find(which), std::string::npos) << command[0] << ran.err;
  }
  for (const char* command : {"log", "cost"}) {
    const Ran ran = project.dent({command});
    EXPECT_EQ(ran.code, 0) << "one broken session hides no other";
    EXPECT_NE(ran.out.find(which), std::string::npos) << ran.out << ran.err;
  }
}

TEST(DentRun, NamesTheFirstWrongElement) {
  const ScratchProject project;
  project.write_scale_manifest("wrong");
  const auto document = run_json(project, {"check", "--shape", "tiny"}, 5);
  EXPECT_NE(document.value("reason", "").find("1 of 37 elements are wrong; first: y[36] is"),
            std::string::npos)
      << document.value("reason", "");
}

TEST(DentRun, SlowerIsItsOwnExitCode) {
  const ScratchProject project;
  project.write_scale_manifest("slow", "[performance]\nseconds = 1\n");
  const Ran ran = project.dent({"bench", "--shape", "small", "--json"});
  EXPECT_EQ(ran.code, 6) << ran.out << ran.err;
  const auto document = ran.json();
  EXPECT_EQ(document.value("verdict", ""), "SLOWER");
  EXPECT_NE(document.value("reason", "").find("STOP"), std::string::npos) << ran.out;
}

TEST(DentRun, BuildFailureShowsTheCompilersOwnWords) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  std::string text = project.read("dent.toml");
  const auto from = text.find("library");
  text.replace(from, text.find('\n', from) - from, "sources = [\"broken.cpp\"]");
  project.write("dent.toml", text);
  project.write("broken.cpp", "int right( {\n");
  const auto document = run_json(project, {"build"}, 4);
  EXPECT_EQ(document.value("verdict", ""), "BUILD FAILED");
  EXPECT_NE(document.value("reason", "").find("broken.cpp:1"), std::string::npos)
      << document.value("reason", "");
  project.write("broken.cpp", "extern \"C\" int another(const void*) { return 0; }\n");
  EXPECT_NE(run_json(project, {"build"}, 4).value("reason", "").find("no function \"right\""),
            std::string::npos);
}

TEST(DentRun, MistakesInTheManifestAreUsageErrors) {
  const ScratchProject project;
  project.write_scale_manifest("right", "[performnce]\nseconds = 1\n");
  const auto document = run_json(project, {"run"}, 2);
  EXPECT_NE(document.value("error", "").find("did you mean \"performance\"?"), std::string::npos)
      << document.dump();
  EXPECT_EQ(project.dent({"run", "--shapes"}).code, 2);
  project.write_scale_manifest("right");
  EXPECT_NE(project.dent({"check", "--shape", "tyni"}).err.find("did you mean \"tiny\"?"), std::string::npos);
}

TEST(DentRun, MistakesOnTheCommandLineAreNoSessionsAndHaveJsonToo) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  run_json(project, {"check", "--shape", "tyni"}, 2);
  EXPECT_TRUE(run_json(project, {"log"}, 0).at("sessions").empty());
  EXPECT_NE(run_json(project, {"chekc"}, 2).value("error", "").find("did you mean \"check\"?"),
            std::string::npos);
  EXPECT_NE(run_json(project, {"check", "--nonsense"}, 2).value("error", "").find("--nonsense"),
            std::string::npos);
}

TEST(DentRun, ABaselineOrReferenceThatCanNotRunSaysNothingAboutTheKernel) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  std::string text = project.read("dent.toml");
  const auto entry = text.find("entry = \"right\"", text.find("[baseline"));
  project.write("dent.toml", std::string(text).replace(entry, 15, "entry = \"crashes\""));
  const auto baseline = run_json(project, {"run", "--shape", "tiny"}, 3);
  EXPECT_EQ(baseline.value("verdict", ""), "ENVIRONMENT");
  EXPECT_NE(baseline.value("next", "").find("fix the baseline"), std::string::npos)
      << baseline.value("next", "");
  const auto reference = text.find("entry = \"reference\"");
  project.write("dent.toml", std::string(text).replace(reference, 19, "entry = \"crashes\""));
  EXPECT_EQ(run_json(project, {"check", "--shape", "tiny"}, 3).value("verdict", ""), "ENVIRONMENT");
}

TEST(DentCommands, PreflightListsWhatItFound) {
  const ScratchProject project;
  project.write_scale_manifest("right");
  const Ran ran = project.dent({"preflight"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("+ memory: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("+ disk: "), std::string::npos) << ran.out;
}

TEST(DentRun, PlanRunsNothing) {
  const ScratchProject project;
  project.write_scale_manifest("crashes");
  const auto document = run_json(project, {"run", "--plan"}, 0);
  EXPECT_EQ(document.at("plan").size(), 10U);
  EXPECT_FALSE(std::filesystem::exists(project.folder() / ".dent"));
  EXPECT_NE(project.dent({"run", "--plan"}).out.find("time box"), std::string::npos);
}

TEST(DentRun, AShapeOfNoWeightIsCheckedAndNotTimed) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  std::string manifest = read_text(project.folder() / "dent.toml").value();
  manifest.replace(manifest.find("n = 37"), 6, "n = 37, weight = 0");
  project.write("dent.toml", manifest);
  const auto plan = run_json(project, {"run", "--plan"}, 0).at("plan").dump();
  EXPECT_NE(plan.find("correctness/tiny"), std::string::npos);
  EXPECT_EQ(plan.find("performance/tiny"), std::string::npos);
  EXPECT_NE(plan.find("performance/small"), std::string::npos);
  const Ran alone = project.dent({"bench", "--shape", "tiny"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("checked, and not timed"), std::string::npos) << alone.err;
}

TEST(DentRun, BudgetStopsASession) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick + "[budget]\nminutes = 0.00001\n");
  EXPECT_EQ(run_json(project, {"run"}, 11).value("verdict", ""), "BUDGET");
}

TEST(DentCommands, LogShowCompareAndReportReadWhatWasMeasured) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  project.dent({"bench", "--shape", "tiny"});
  const auto first = run_json(project, {"log"}, 0).at("sessions").at(0).at("session").get<std::string>();
  project.dent({"bench", "--shape", "tiny"});
  EXPECT_EQ(run_json(project, {"log"}, 0).at("sessions").size(), 2U);
  EXPECT_EQ(run_json(project, {"show", first}, 0).value("session", ""), first);
  const Ran compared = project.dent({"compare", first, "latest", "--json"});
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  EXPECT_EQ(compared.json().value("verdict", ""), "SAME") << compared.out;
  EXPECT_TRUE(std::filesystem::exists(run_json(project, {"report", "latest"}, 0).value("html", "")));
  EXPECT_EQ(project.dent({"show", "1999"}).code, 2);
}

TEST(DentCommands, CompletionIsAScriptThatBashAccepts) {
  const Finished script =
      run({.argv = {"/bin/bash", "-c", std::string(DENT_PROGRAM) + " completion bash | bash -n"}}, 20);
  EXPECT_TRUE(script.ending.clean());
}

TEST(DentCommands, EveryCommandShowsAnExample) {
  for (const char* command : {"run", "resume", "preflight", "build", "check", "bench", "profile", "sanitize",
                              "log", "show", "compare", "report", "init", "devices", "patterns"}) {
    const ScratchProject project;
    const Ran ran = project.dent({command, "--help"});
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_NE(ran.out.find("Examples:\n  "), std::string::npos) << command << ran.out;
  }
}

}  // namespace
}  // namespace dent::run_test
