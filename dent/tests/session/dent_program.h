// SPDX-License-Identifier: MIT
// dent on a real project in a folder of its own.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "records/json.h"
#include "system/process.h"

namespace dent::test {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
  nlohmann::json json() const { return parse_json(out); }
};

class ScratchProject {
 public:
  // `program`: the dent to run there. In programs that test sessions, DENT_PROGRAM is one whose kernels take
  // the time that a script says (dent/tests/support/scripted), and DENT_REAL the one that is installed.
  explicit ScratchProject(std::string program = DENT_PROGRAM) : program_(std::move(program)) {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("dent test " + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
  }
  ~ScratchProject() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ScratchProject(const ScratchProject&) = delete;
  ScratchProject& operator=(const ScratchProject&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string read(const std::string& name) const { return text_of(folder_ / name); }

  // y = 2 x from the library of test kernels, a few shapes, measured for an instant each.
  void write_scale_manifest(const std::string& entry, const std::string& more = {}) const {
    const std::string library = std::string("library = \"") + DENT_TEST_KERNELS + "\"";
    write("dent.toml",
          "version = 1\nname = \"scale\"\n"
          "shapes = [{ name = \"tiny\", n = 37 }, { name = \"small\", n = 1000 }]\n"
          "[kernel]\n" +
              library + "\nentry = \"" + entry +
              "\"\n"
              "[baseline.plain]\n" +
              library +
              "\nentry = \"right\"\n"
              "[operator]\nname = \"scale\"\n"
              "inputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
              "reference = { " +
              library + ", entry = \"reference\" }\n" + more);
  }

  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_);
    arguments.insert(arguments.end(), {"-p", folder_.string()});
    return arguments;
  }

  // stdout and stderr apart, through a shell. The patience is for a machine that others use: no test passes
  // or fails by how long a session takes.
  Ran dent(const std::vector<std::string>& arguments, double seconds = 600,
           const std::string& before = {}) const {
    std::string line = before;
    for (const std::string& word : command(arguments)) line += " '" + word + "'";
    line += " >'" + (folder_ / "stdout").string() + "' 2>'" + (folder_ / "stderr").string() + "'";
    const Finished finished = run({.argv = {"/bin/sh", "-c", line}}, seconds);
    return {finished.ending.kind == Ending::Kind::exited ? finished.ending.code : -1, read("stdout"),
            read("stderr")};
  }

  // Starts dent and kills it after so many milliseconds, with its workers or alone. True when it came to its
  // end before.
  enum class Kill { all, dent_alone };
  bool run_for(const std::vector<std::string>& arguments, int milliseconds, Kill kill = Kill::all) const {
    Process process({.argv = command(arguments), .log = folder_ / "log"});
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) {
      if (process.poll()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (process.poll()) return true;
    if (kill == Kill::all) {
      process.kill(Ending::Kind::signalled);
    } else {
      ::kill(process.id(), SIGKILL);
      process.wait(10);
    }
    return false;
  }

 private:
  std::string program_;
  std::filesystem::path folder_;
};

}  // namespace dent::test
