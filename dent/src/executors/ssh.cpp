// SPDX-License-Identifier: MIT
#include "executors/ssh.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/sha256.h"
#include "base/text.h"
#include "executors/job_folder.h"
#include "executors/program_bundle.h"
#include "executors/project_tree.h"
#include "executors/shell_words.h"
#include "executors/ssh_shell.h"
#include "project/manifest.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "session/version.h"
#include "system/capture.h"
#include "system/streams.h"
#include "system/temporary_folder.h"
#include "system/unpack.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kMostRecords = std::int64_t{1} << 30;  // bytes, of a job
constexpr double kCopySeconds = 3600, kBuildSeconds = 3600;

// What a machine says about itself, in one round trip.
struct There {
  std::string work;     // its work folder, absolute
  std::string machine;  // instruction set
  bool rsync = false, program = false;
};

// For rsync's -e, which knows quotes but no backslash: a quote in a quoted word is written twice.
std::string words_for_rsync(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "'" : " '";
    for (const char c : word) text += c == '\'' ? "''" : std::string(1, c);
    text += "'";
  }
  return text;
}

class SshExecutor : public Executor {
 public:
  SshExecutor(ExecutorRules rules, const Project& project, Say say)
      : rules_(std::move(rules)),
        project_(project.directory),
        shell_(rules_.host, rules_.ssh_config),
        say_(std::move(say)) {}

  std::string look() override {
    const auto answer = shell_.run(
        "uname -m; nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1", "", 20);
    std::istringstream lines(answer.out);
    std::string machine, gpu;
    std::getline(lines, machine);
    std::getline(lines, gpu);
    return fmt::format("ready ({}{}{})", machine, gpu.empty() ? "" : ", ", gpu);
  }

  void copy_there(SentJob& sent) override {
    const ProgramBundle bundle = rules_.dent.empty() ? program_bundle() : ProgramBundle{};
    const There there = ask_about(bundle.id);
    refuse_a_second_job(sent);
    sent.note("program", rules_.dent.empty() ? bring_program(bundle, there, sent) : rules_.dent);
    sent.note("tree", copy_tree(tree_of(project_, kManifestName), there));
    sent.note("folder", there.work + "/jobs/" + sent.job().id);
  }

  // A machine that has lost its disk gets everything again, and the records that the job had written: begun
  // anew, they would bear the numbers of those that were taken in before.
  void start(SentJob& sent) override {
    if (sent.noted("started").empty() || !is_gone(sent)) return start_there(sent);
    copy_there(sent);
    require(shell_.run(fmt::format("mkdir -p {0} && cd {0} && cat > ledger.jsonl",
                                   dent::quoted(sent.noted("folder"))),
                       text_of(seen(sent)), kCopySeconds),
            "can't bring the job's records");
    start_there(sent);
  }

  void follow(SentJob& sent, const TakeLine& take) override {
    last_word_.clear();
    const std::string known = text_of(seen(sent));
    const auto old = std::count(known.begin(), known.end(), '\n');
    std::ofstream more(seen(sent), std::ios::app | std::ios::binary);
    std::ptrdiff_t number = 0;
    std::int64_t bytes = 0;
    shell_.follow(job_command(sent, "--follow"), [&](std::string_view line) {
      bytes += static_cast<std::int64_t>(line.size());
      if (bytes > kMostRecords)
        throw Error(ErrorCode::environment, fmt::format("{} sends records without end", rules_.host));
      if (line.starts_with("{\"state\":")) last_word_ = line;
      if (!line.starts_with("{\"schema\":")) return;
      if (++number > old) more << line << '\n' << std::flush;
      take(line);
    });
  }

  JobStatus state(SentJob& sent) override {
    if (sent.noted("folder").empty()) return {.state = JobState::pending, .word = "not sent"};
    // What it said when it was followed to its end saves a round trip, once.
    if (const std::string said = std::exchange(last_word_, ""); !said.empty())
      return from_json_text<JobStatus>(said);
    if (is_gone(sent)) {
      return {.state = JobState::preempted,
              .word = "gone",
              .exit_code = static_cast<int>(ExitCode::interrupted),
              .why = "its folder is not there any more: the machine has lost its disk"};
    }
    const auto answer = shell_.run(job_command(sent, "--state"));
    require(answer, "can't ask for the job's state");
    return from_json_text<JobStatus>(answer.out);
  }

  void cancel(SentJob& sent) override {
    require(shell_.run(job_command(sent, "--cancel")), "can't cancel the job");
  }

  void bring_back(SentJob& sent, const fs::path& artifacts) override {
    const auto answer = shell_.run(
        fmt::format("cd {}/artifacts && tar -cf - .", dent::quoted(sent.noted("folder"))), "", kCopySeconds);
    require(answer, "can't read the job's artifacts");
    const fs::path archive = sent.folder() / "artifacts.tar";
    {
      const FileDescriptor file = open_file(archive, O_WRONLY | O_CREAT | O_TRUNC, "can't write");
      write_all(file.get(), answer.out, archive);
    }
    const TemporaryFolder brought("dent-artifacts");
    dent::unpack(archive, brought.path());
    fs::remove(archive);
    take_files(brought.path(), artifacts);
  }

 private:
  // Every record of the job that has come, as it was written there.
  static fs::path seen(const SentJob& sent) { return sent.folder() / "seen.jsonl"; }

  bool is_gone(const SentJob& sent) {
    return shell_.run(fmt::format("[ -e {}/job.json ]", dent::quoted(sent.noted("folder")))).code != 0;
  }

  // The job and its variables go over stdin: the command line is for everybody there to see.
  void start_there(const SentJob& sent) {
    Job job = sent.job();
    job.project = sent.noted("tree");
    const std::string envs = rules_.envs.empty() ? "" : envs_text(rules_.envs);
    require(shell_.run(
                fmt::format(
                    "mkdir -p {0} && cd {0} && IFS= read -r job && printf '%s\\n' \"$job\" > job.json.new && "
                    "mv job.json.new job.json && (umask 077; cat > envs; [ -s envs ] || rm -f envs) && {1}",
                    dent::quoted(sent.noted("folder")), job_command(sent, "--start")),
                to_json_text(job) + "\n" + envs),
            "can't start the job");
  }

  void require(const SshShell::Answer& answer, const std::string& what) const {
    if (answer.code == 0) return;
    const std::string said = trimmed(answer.err.empty() ? answer.out : answer.err);
    throw Error(
        ErrorCode::environment, fmt::format("{} on {}: {}", what, rules_.host, said),
        said.find("No space left") != std::string::npos
            ? fmt::format("make room there, or set workdir of executor {} to another disk", rules_.name)
            : "");
  }

  static std::string job_command(const SentJob& sent, const char* option) {
    return dent::quoted({sent.noted("program"), "job", sent.noted("folder"), option});
  }

  There ask_about(const std::string& program) {
    const std::string work = rules_.workdir.empty() ? "\"${XDG_CACHE_HOME:-$HOME/.cache}/dent\""
                             : rules_.workdir.starts_with("~/")
                                 ? "\"$HOME\"/" + dent::quoted(rules_.workdir.substr(2))
                                 : dent::quoted(rules_.workdir);
    const auto answer =
        shell_.run(fmt::format("mkdir -p {0} && cd {0} && mkdir -p programs projects jobs || exit 1\n"
                               "pwd -P; uname -m; command -v rsync >/dev/null && echo yes || echo no\n"
                               "[ -x programs/{1}/ready/dent ] && echo yes || echo no",
                               work, program.empty() ? "none" : program));
    require(answer, "can't make the work folder");
    There there;
    std::istringstream lines(answer.out);
    std::string rsync, has_program;
    std::getline(lines, there.work);
    std::getline(lines, there.machine);
    std::getline(lines, rsync);
    std::getline(lines, has_program);
    there.rsync = rsync == "yes" && capture({"rsync", "--version"}, 10).has_value();
    there.program = has_program == "yes";
    return there;
  }

  // Its files would change under the first one.
  void refuse_a_second_job(const SentJob& sent) {
    for (SentJob& other : JobTable(sent.folder().parent_path().parent_path()).list()) {
      // Parts of one loop share its tree, which stays as it is.
      if (other.job().id == sent.job().id || other.job().session == sent.job().session ||
          other.job().executor != rules_.name || has_ended(other.status().state) ||
          other.noted("started").empty())
        continue;
      if (const JobStatus now = state(other); !has_ended(now.state)) {
        throw Error(ErrorCode::busy,
                    fmt::format("job {} of this project runs on {}", other.job().id, rules_.name),
                    fmt::format("wait for it: dent attach {0}; or end it: dent cancel {0}",
                                other.job().id.substr(0, 8)));
      }
      other.remember(state(other));
    }
  }

  // The program there, brought or built once.
  std::string bring_program(const ProgramBundle& bundle, const There& there, const SentJob& sent) {
    const std::string folder = there.work + "/programs/" + bundle.id, program = folder + "/ready/dent";
    if (there.program) return program;
    if (there.machine != instruction_set()) return build_program(folder, there);
    const fs::path archive = sent.folder() / "program.tar";
    bundle.write(archive);
    const FileDescriptor file = open_file(archive, O_RDONLY, "can't read");
    // Another coordinator may do the same: each in a folder of its own, and the first that is done wins.
    const auto answer = shell_.run(fmt::format("new={0}/new.$$ && mkdir -p \"$new\" && tar -C \"$new\" -xf - "
                                               "&& \"$new\"/dent --version >/dev/null && "
                                               "{{ mv -T \"$new\" {0}/ready 2>/dev/null || [ -x "
                                               "{0}/ready/dent ]; }}; rc=$?; rm -rf \"$new\"; exit $rc",
                                               dent::quoted(folder)),
                                   file, kCopySeconds);
    fs::remove(archive);
    if (answer.code == 0) return program;
    if (answer.err.find("No space left") != std::string::npos) require(answer, "can't bring dent");
    return build_program(folder, there);  // another C library, for example
  }

  std::string build_program(const std::string& folder, const There& there) {
    const fs::path source = own_source();
    if (source.empty()) {
      throw Error(
          ErrorCode::environment,
          fmt::format("this dent does not run on {} ({}), and its source is not here to build it there",
                      rules_.host, there.machine),
          fmt::format("install dent {} there and say where: dent = \"/path/to/dent\" in [executor.{}]",
                      kDentVersion, rules_.name));
    }
    say_(fmt::format("{} ({}) can't run this dent: it is built there, once; this takes minutes", rules_.host,
                     there.machine));
    const std::string tree = copy_tree(tree_of(source, "CMakeLists.txt"), there);
    // Another coordinator may do the same: the second waits, and finds it built.
    require(
        shell_.run(
            fmt::format(
                "mkdir -p {1} && cd {1} && exec 9>lock && {{ ! command -v flock >/dev/null || flock 9; }} && "
                "{{ [ -x ready/dent ] || {{ "
                "cmake -S {0} -B build -DCMAKE_BUILD_TYPE=Release -DFLASHMOE_CUDA=OFF "
                "-DFLASHMOE_HIGHWAY=AUTO -DBUILD_TESTING=OFF -DFLASHMOE_BENCHES=OFF "
                "-DFLASHMOE_EXAMPLES=OFF && "
                "cmake --build build --target dent -j \"$(nproc)\" && build/dent/dent --version && "
                "ln -sfn build/dent ready; }} >build.log 2>&1; }} || "
                "{{ tail -n 20 build.log >&2; echo \"all of it: $(pwd -P)/build.log\" >&2; exit 1; }}",
                dent::quoted(tree), dent::quoted(folder)),
            "", kBuildSeconds),
        "can't build dent");
    return folder + "/ready/dent";
  }

  // Brings the files there up to date, and removes those that were there from before and are none any more.
  // The project's folder in it.
  std::string copy_tree(const ProjectTree& tree, const There& there) {
    const std::string key = sha256(there.machine + tree.identity + host_name()).substr(0, 16);
    const std::string folder = there.work + "/projects/" + key, to = folder + "/tree";
    require(
        shell_.run(
            fmt::format(
                "cd {0} 2>/dev/null || {{ mkdir -p {0} && cd {0}; }}; mkdir -p tree; touch files; "
                "cat > files.new && LC_ALL=C comm -z -23 files files.new | (cd tree && xargs -0 rm -f --) && "
                "mv files.new files",
                dent::quoted(folder)),
            tree.list()),
        "can't tidy the project's tree");
    if (!there.rsync || !rsync(tree, to)) unpack(tree, to);
    return (fs::path(to) / tree.prefix).lexically_normal().string();
  }

  // --modify-window=-1: an edit of the same size within the same second counts. False where the login shell's
  // own files print something, which rsync takes for its protocol.
  bool rsync(const ProjectTree& tree, const std::string& to) {
    std::string names;  // one that begins with # or ; would be a comment
    for (const std::string& file : tree.files) names += "./" + file + std::string(1, '\0');
    const FileDescriptor list = in_memory(names);
    const CommandAnswer sent =
        ask({.argv = {"rsync", "-a", "-s", "--modify-window=-1", "--from0", "--files-from=-",
                      "--ignore-missing-args", "--partial", "-e", words_for_rsync(shell_.command()), "--",
                      tree.root.string() + "/", rules_.host + ":" + to + "/"}},
            list, kCopySeconds);
    if (sent.ending.clean()) return true;
    const std::string said = trimmed(sent.err);
    if (said.find("is your shell clean") != std::string::npos) return false;
    const bool cut = sent.ending.kind == Ending::Kind::exited &&
                     (sent.ending.code == 255 || sent.ending.code == 10 || sent.ending.code == 12) &&
                     said.find("No space left") == std::string::npos;
    if (cut) throw Unreachable(fmt::format("rsync to {}: {}", rules_.host, said));
    require({sent.ending.code, {}, said}, "rsync");
    return true;
  }

  void unpack(const ProjectTree& tree, const std::string& to) {
    const FileDescriptor list = in_memory(tree.list());
    const CommandAnswer packed =
        ask({.argv = {"tar", "-C", tree.root, "--null", "--verbatim-files-from", "-T", "-", "-cf", "-"}},
            list, kCopySeconds);
    if (!packed.ending.clean()) throw Error(ErrorCode::environment, "tar: " + trimmed(packed.err));
    require(shell_.run(fmt::format("tar -C {} -xpf -", dent::quoted(to)), packed.out, kCopySeconds),
            "can't unpack");
  }

  static std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return name;
  }

  ExecutorRules rules_;
  fs::path project_;
  SshShell shell_;
  Say say_;
  std::string last_word_;  // of a job that was followed to its end
};

}  // namespace

std::unique_ptr<Executor> ssh_executor(const ExecutorRules& rules, const Project& project, Say say) {
  return std::make_unique<SshExecutor>(rules, project, std::move(say));
}

}  // namespace dent
