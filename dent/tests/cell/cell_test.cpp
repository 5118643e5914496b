// SPDX-License-Identifier: MIT
// What a process in a cell can see and do, and that dent sees through the walls what it has to: how it ended,
// what it holds, whether it stands still. Where something must not be possible inside, the same is done
// without a cell first, where it is.
#include "cell/cell.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "cell/bubblewrap.h"
#include "cell/variables.h"
#include "ledger/in_child.h"
#include "system/exit_watch.h"
#include "system/process_table.h"
#include "system/strays.h"

namespace dent::cell_test {
namespace {

namespace fs = std::filesystem;
constexpr double kLong = 120;  // seconds: far more than anything here takes
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Whether the system tells how a process ended that is not the asker's child.
bool tells_exits() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ExitWatch watch(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return watch.status().has_value();
}

class CellTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!bubblewrap().why_not.empty()) GTEST_SKIP() << bubblewrap().why_not;
    fs::create_directories(project_ / "folder");
    std::ofstream(project_ / "file") << "of the project\n";
  }

  Command outside(const std::string& script) const {
    return {.argv = {"/bin/sh", "-c", script}, .directory = project_, .log = scratch_ / "log"};
  }
  Command inside(const std::string& script, const CellView& more = {}) const {
    Command command = outside(script);
    CellView view{.visible = {project_}};
    view.add(more);
    view.room_bytes = more.room_bytes;
    Cell(Sandbox::required).enclose(command, view);
    return command;
  }

  // What it printed, and that it ended well.
  std::string output(const Command& command) const {
    fs::remove(command.log);
    const Finished finished = run(command, kLong);
    EXPECT_TRUE(finished.ending.clean()) << describe(finished.ending) << ": " << finished.output;
    return finished.output;
  }

  template <class Test>
  static bool becomes_true(const Test& test) {
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < std::chrono::duration<double>(kLong);) {
      if (test()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static void wait_for_word(const Process& process) {
    ASSERT_TRUE(becomes_true([&] { return process.last_words().find('\n') != std::string::npos; }));
  }
  static bool lives(pid_t process) {
    const char state = process_entry(process).state;
    return state != '?' && state != 'Z';
  }

  const test::ScratchFolder scratch_;
  const fs::path project_ = scratch_ / "project";
};

TEST_F(CellTest, TellsHowItsProgramEnded) {
  EXPECT_TRUE(run(inside("exit 0"), kLong).ending.clean());
  const Ending status = run(inside("exit 3"), kLong).ending;
  EXPECT_EQ(describe(status), "exited with status 3");
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL, SIGTERM}) {
    const Ending killed = run(inside("kill -" + std::to_string(signal) + " $$"), kLong).ending;
    EXPECT_EQ(killed.kind, Ending::Kind::signalled) << describe(killed);
    EXPECT_EQ(killed.code, signal);
  }
}

// 139 is what a shell and bubblewrap say for SIGSEGV.
TEST_F(CellTest, TellsANumberThatStandsForASignalFromTheSignal) {
  if (!tells_exits()) GTEST_SKIP() << "this system does not tell how another's child ended (Linux 6.15 does)";
  Process process(inside("while [ ! -e go ]; do sleep 0.01; done; exit 139"));
  ASSERT_TRUE(becomes_true([&] { return process.program() != process.id(); }));
  std::ofstream(project_ / "go") << "\n";
  const Ending ending = process.wait(kLong);
  EXPECT_EQ(describe(ending), "exited with status 139");
}

TEST_F(CellTest, KnowsItsProgramFromWhatStandsInFrontOfIt) {
  Process process(inside("echo $$; exec sleep 1000"));
  wait_for_word(process);
  EXPECT_EQ(process.last_words(), std::to_string(kProgramInCell) + "\n");
  EXPECT_NE(process.program(), process.id());
  EXPECT_TRUE(becomes_true([&] { return name_of(process.program()) == "sleep"; }));
}

TEST_F(CellTest, MemoryIsThatOfAllInside) {
  // Something after the sleep: else the shell becomes it, and its memory is gone.
  const std::string holder =
      "(text=$(head -c 100663296 /dev/zero | tr '\\0' x); echo $$; sleep 1000; :) & wait";
  Command limited = inside(holder);
  limited.memory_bytes = 64 * kMiB;
  EXPECT_EQ(run(limited, kLong).ending.kind, Ending::Kind::out_of_memory);
}

TEST_F(CellTest, PausedItStandsStillAndIsLeftAlone) {
  Process process(inside("echo 1; while :; do :; done"));
  wait_for_word(process);
  for (int i = 0; i < 20; ++i) {
    process.pause();
    EXPECT_TRUE(all_threads_stopped(process.program()));
    const auto disturbed = process.resume();
    EXPECT_FALSE(disturbed) << disturbed->what;
  }
  process.pause();
  ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(process.program()), 19), 0);
  const auto changed = process.resume();
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->ran);
  EXPECT_NE(changed->what.find("its nice was"), std::string::npos) << changed->what;
}

TEST_F(CellTest, TellsThatItRanWhileItWasPaused) {
  Process process(inside("echo 1; while :; do :; done"));
  wait_for_word(process);
  for (const bool stopped_again : {false, true}) {
    process.pause();
    const pid_t program = process.program();
    kill(program, SIGCONT);
    const auto before = cpu_time_ns(program);
    ASSERT_TRUE(becomes_true([&] { return cpu_time_ns(program) > before + 5'000'000; }));
    if (stopped_again) {
      kill(program, SIGSTOP);
      ASSERT_TRUE(becomes_true([&] { return all_threads_stopped(program); }));
    }
    const auto disturbed = process.resume();
    ASSERT_TRUE(disturbed) << "stopped again: " << stopped_again;
    EXPECT_TRUE(disturbed->ran) << disturbed->what;
  }
}

TEST_F(CellTest, NobodyInsideOutlivesIt) {
  // Without: it goes on in a session of its own, and has to be looked for.
  Process free(outside("setsid sh -c 'echo $$; exec sleep 1000' & while [ ! -s ../log ]; do :; done"));
  EXPECT_TRUE(free.wait(kLong).clean());
  const auto left = static_cast<pid_t>(std::stol(free.last_words()));
  EXPECT_TRUE(lives(left));
  kill(left, SIGKILL);

  fs::remove(scratch_ / "log");
  Process process(inside("setsid sh -c 'echo x; exec sleep 1000' & wait"));
  wait_for_word(process);
  std::vector<pid_t> all;
  for (const auto& [id, entry] : all_processes()) {
    if (is_below(id, process.id())) all.push_back(id);
  }
  EXPECT_GE(all.size(), 3U);
  EXPECT_EQ(process.kill(Ending::Kind::timed_out).kind, Ending::Kind::timed_out);
  for (const pid_t one : all) EXPECT_TRUE(becomes_true([&] { return !lives(one); })) << one;
}

TEST_F(CellTest, ConfinedItMayActOnItsOwnFamilyButNotOnItsWalls) {
  if (!why_not_confined().empty()) GTEST_SKIP() << why_not_confined();
  Command command = inside("sleep 1000 & kill $! && wait $!; kill -CONT $$; kill -TERM 1; echo $?");
  command.confined = true;
  Process process(command);
  EXPECT_TRUE(process.wait(kLong).clean());
  EXPECT_TRUE(process.last_words().ends_with("1\n")) << process.last_words();
  const auto refused = process.trespass();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->call, "kill on the init process of its sandbox");
}

TEST_F(CellTest, TheProjectIsThereAndCanNotBeWrittenTo) {
  const std::string script = "cat file; touch new 2>/dev/null || echo refused";
  EXPECT_EQ(output(outside(script)), "of the project\n");
  EXPECT_EQ(output(inside(script)), "of the project\nrefused\n");
}

TEST_F(CellTest, WhatIsWritableStaysAndWhatIsHiddenIsEmpty) {
  fs::create_directories(project_ / "secret" / "shown");
  std::ofstream(project_ / "secret" / "ledger") << "x";
  std::ofstream(project_ / "secret" / "shown" / "library") << "y";
  const CellView view{.visible = {project_ / "secret" / "shown"},
                      .writable = {project_ / "folder"},
                      .hidden = {project_ / "secret"}};
  EXPECT_EQ(
      output(inside("echo z > folder/new; ls secret; ls secret/shown; touch secret/x 2>&1 | wc -l", view)),
      "shown\nlibrary\n1\n");
  EXPECT_TRUE(fs::exists(project_ / "folder" / "new"));
}

TEST_F(CellTest, ALinkLeadsToWhatItLedTo) {
  fs::create_directories(scratch_ / "elsewhere");
  std::ofstream(scratch_ / "elsewhere" / "module") << "found\n";
  fs::create_symlink(scratch_ / "elsewhere", project_ / "venv");  // within what is visible
  fs::create_symlink(scratch_ / "elsewhere", scratch_ / "link");  // and beside it
  const CellView view{.visible = {project_ / "venv", scratch_ / "link"}};
  EXPECT_EQ(output(inside("cat venv/module; cat " + (scratch_ / "link").string() + "/module", view)),
            "found\nfound\n");
}

// As a virtual environment that is a link, and its packages.
TEST_F(CellTest, ALinkAndWhatLiesBehindItMayBothBeNamed) {
  fs::create_directories(scratch_ / "real/packages");
  std::ofstream(scratch_ / "real/packages/module") << "found\n";
  fs::create_symlink(scratch_ / "real", scratch_ / "venv");
  const CellView view{.visible = {scratch_ / "venv", scratch_ / "venv/packages"}};
  EXPECT_EQ(output(inside("cat " + (scratch_ / "venv/packages/module").string(), view)), "found\n");
}

TEST_F(CellTest, TheUsersHomeAndOtherFilesAreNotThere) {
  std::ofstream(scratch_ / "key") << "a secret\n";
  const std::string script = "cat " + (scratch_ / "key").string() + " 2>/dev/null || echo nothing";
  EXPECT_EQ(output(outside(script)), "a secret\n");
  EXPECT_EQ(output(inside(script)), "nothing\n");
  for (const char* folder : {"/root", "/home", "/run", "/var", "/etc/shadow", "/etc/ssh"})
    EXPECT_EQ(output(inside(std::string("test -e ") + folder + " || echo nothing")), "nothing\n") << folder;
  EXPECT_EQ(output(inside("echo $HOME $TMPDIR; ls -A /tmp | wc -l")).substr(0, 10), "/tmp /tmp\n");
}

TEST_F(CellTest, ThereIsNoNetwork) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string script =
      "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(ntohs(address.sin_port)) + " && echo through";
  const auto in_bash = [&](Command how) {
    how.argv = {"bash", "-c", "(" + script + ") 2>/dev/null || echo refused"};
    return output(how);
  };
  EXPECT_EQ(in_bash(outside("")), "through\n");
  EXPECT_EQ(in_bash(inside("")), "refused\n");
  EXPECT_EQ(in_bash(inside("", {.network = true})), "through\n");
  close(listener);
}

TEST_F(CellTest, OtherProcessesAreNotToBeSeen) {
  const std::string look = "ls /proc/" + std::to_string(getpid()) + "/status 2>/dev/null | wc -l";
  EXPECT_EQ(output(outside(look)), "1\n");
  EXPECT_EQ(output(inside(look)), "0\n");
}

TEST_F(CellTest, NothingInsideIsRootNorCanBecomeIt) {
  EXPECT_NE(output(inside("id -u")), "0\n");
  EXPECT_EQ(output(inside("grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | grep -vc 0000000000000000; true")),
            "0\n");
  EXPECT_EQ(output(inside("unshare -U true 2>/dev/null || echo refused")), "refused\n");
  EXPECT_EQ(output(inside("(echo 60 > /proc/sys/vm/swappiness) 2>/dev/null || echo refused")), "refused\n");
  EXPECT_EQ(output(inside("touch /dev/x /usr/x /x 2>/dev/null; ls /dev/x /usr/x 2>/dev/null | wc -l")),
            "0\n");
}

TEST_F(CellTest, ItsRoomIsLimited) {
  const std::string fill =
      "fallocate -l 64M /tmp/dent-cell-test 2>/dev/null && echo fits; rm -f /tmp/dent-cell-test";
  EXPECT_EQ(output(outside(fill)), "fits\n");
  EXPECT_EQ(output(inside(fill, {.room_bytes = 32 * kMiB})), "");
  EXPECT_EQ(output(inside(fill, {.room_bytes = 128 * kMiB})), "fits\n");
}

TEST(CellVariables, TokensStayOutside) {
  for (const char* name : {"PATH", "LC_ALL", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "ASAN_OPTIONS"})
    EXPECT_TRUE(is_usual_variable(name)) << name;
  for (const char* name : {"HOME", "USER", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
                           "OPENAI_API_KEY", "LD_PRELOAD", "XDG_RUNTIME_DIR"})
    EXPECT_FALSE(is_usual_variable(name)) << name;
  setenv("DENT_TEST_USUAL", "1", 1);
  setenv("SECRET_OF_THE_TEST", "2", 1);
  const auto value = [](const Variables& variables, const std::string& name) {
    for (const auto& [key, text] : variables) {
      if (key == name) return text;
    }
    return std::string("none");
  };
  const Variables usual = cell_variables({}, {{"GIVEN", "3"}, {"PATH", "/mine"}});
  EXPECT_EQ(value(usual, "DENT_TEST_USUAL"), "1");
  EXPECT_EQ(value(usual, "SECRET_OF_THE_TEST"), "none");
  EXPECT_EQ(value(usual, "GIVEN"), "3");
  EXPECT_EQ(value(usual, "PATH"), "/mine");
  EXPECT_EQ(value(usual, "HOME"), "/tmp");
  EXPECT_EQ(value(cell_variables({"SECRET_OF_THE_TEST"}, {}), "SECRET_OF_THE_TEST"), "2");
}

TEST_F(CellTest, WhatIsLoadedFirstIsForTheProgramOnly) {
  Command command =
      outside("echo $LD_PRELOAD; cat /proc/1/environ | tr '\\0' '\\n' | grep -c LD_PRELOAD; true");
  command.environment = {{"LD_PRELOAD", "libpthread.so.0"}};
  Cell(Sandbox::required).enclose(command, {.visible = {project_}});
  EXPECT_EQ(output(command), "libpthread.so.0\n0\n");
}

TEST_F(CellTest, NoOtherProcessInsideHoldsTheUsersEnvironment) {
  setenv("SECRET_OF_THE_TEST", "to be kept", 1);
  const std::string look =
      "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c 'to be kept'; true";
  EXPECT_NE(output(outside(look)), "0\n");
  EXPECT_EQ(output(inside(look)), "0\n");
}

TEST(Bubblewrap, OneThatIsMissingOrOldOrFailsIsSaid) {
  EXPECT_EQ(try_bubblewrap("/no/such/bwrap").why_not, "/no/such/bwrap can't be run");
  const test::ScratchFolder scratch;
  const auto stand_in = [&](const std::string& text) {
    const fs::path program = scratch / "bwrap";
    std::ofstream(program) << "#!/bin/sh\n" << text;
    fs::permissions(program, fs::perms::owner_all);
    return try_bubblewrap(program);
  };
  EXPECT_EQ(stand_in("echo bubblewrap 0.6.1").why_not, "bubblewrap 0.6.1 is older than 0.8");
  const Bubblewrap refused = stand_in(
      "[ \"$1\" = --version ] && echo bubblewrap 0.9.0 && exit\n"
      "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1");
  EXPECT_EQ(refused.why_not,
            "bubblewrap can't make a cell here: bwrap: setting up uid map: Permission denied");
  EXPECT_NE(refused.remedy.find("kernel.apparmor_restrict_unprivileged_userns=0"), std::string::npos);
}

TEST(Cell, SwitchedOffItLeavesACommandAsItIs) {
  Command command{.argv = {"true"}};
  const Cell cell(Sandbox::off);
  EXPECT_FALSE(cell.stands());
  cell.enclose(command, {});
  EXPECT_TRUE(command.cell.empty());
  EXPECT_FALSE(command.only_that_environment);
}

}  // namespace
}  // namespace dent::cell_test
