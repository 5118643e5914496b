// SPDX-License-Identifier: MIT
// A job in a folder of its own, for the real dent.
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

#include "executors/job.h"
#include "executors/job_folder.h"
#include "session/dent_program.h"
#include "session/plan.h"

namespace dent::test {

inline const std::string kInstant =
    "[performance]\nprofile_below = 0.001\nseconds = 0.15\nsame_within = 0.9\nprecision = 0.9\n"
    "stop_below = 0.01\nbaseline_within = 50\n[correctness]\nseeds = 1\n";

class ScratchJob {
 public:
  // `held`: its build waits until let_go().
  explicit ScratchJob(const std::string& entry = "right", bool held = false) {
    project_.write_scale_manifest(entry, kInstant);
    if (held) hold(project_);
    folder_ = project_.folder() / "job";
    std::filesystem::create_directories(folder_);
    write_job(folder_, {.id = "0f8fad5b-d9cb-469f-a165-70867728950e",
                        .command = "check",
                        .project = "..",
                        .gates = gates_of_command(gate_named("correctness"))});
  }

  // The kernel is built by a command that waits for a file of this machine's, which its cell lets it see.
  static void hold(const ScratchProject& project) {
    std::string manifest = project.read("dent.toml");
    manifest.insert(manifest.find('\n') + 1, "visible = ['" + project.folder().string() + "']\n");
    manifest.replace(manifest.find("[kernel]\n"), 9,
                     "[kernel]\nbuild = \"while [ ! -e '" + (project.folder() / "go").string() +
                         "' ]; do sleep 0.02; done\"\n");
    project.write("dent.toml", manifest);
  }
  void let_go() const { project_.write("go", ""); }

  // What a dent that was killed had just started holds its lock for a moment more.
  JobStatus status_at_rest() const {
    for (int i = 0; i < 500 && status_of(folder_).state == JobState::running; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return status_of(folder_);
  }

  const std::filesystem::path& folder() const { return folder_; }
  std::vector<std::string> command(std::vector<std::string> more) const {
    more.insert(more.begin(), {DENT_PROGRAM, "job", folder_.string()});
    return more;
  }
  int dent(std::vector<std::string> more) const {
    const Finished finished = run({.argv = command(std::move(more)), .log = folder_ / "log"}, 120);
    return finished.ending.kind == Ending::Kind::exited ? finished.ending.code : -1;
  }
  std::string log() const { return text_of(folder_ / "log"); }
  void wait_for_records(int count) const {
    for (int i = 0; i < 3000; ++i) {
      const std::string text = text_of(folder_ / "ledger.jsonl");
      if (std::count(text.begin(), text.end(), '\n') >= count) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("the job has not begun: " + log());
  }

 private:
  ScratchProject project_;
  std::filesystem::path folder_;
};

}  // namespace dent::test
