// SPDX-License-Identifier: MIT
// The parent's end of a worker, which is a process that runs one kernel. Each of these functions ends within
// its time limit, with a reply or with KernelFailed.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "records/failure.h"
#include "records/json.h"
#include "system/process.h"
#include "system/shared_memory.h"
#include "workers/device_turns.h"
#include "workers/messages.h"
#include "workers/protocol.h"

namespace dent {

struct WorkerSetup {
  Role role = Role::candidate;
  std::vector<std::string> argv;  // command line of the worker program
  protocol::Load load;            // the first request
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path directory;
  std::filesystem::path log;
  std::int64_t memory_bytes = 0;
  bool hard_memory_limit = false;
  std::size_t result_bytes = 0;
  double load_seconds = 60;
  double compile_seconds = 0;       // added to the limit of a problem's first call, if it compiles
  std::filesystem::path scratch{};  // a folder that is removed with the worker; empty: none
  bool confined = false;            // see system/confinement.h
  DeviceTurns* turns = nullptr;     // set for GPU kernels: each request takes a turn
  Cell cell{Sandbox::off};
  CellView view{};                  // what it sees in its sandbox
  bool candidate_confined = false;  // so actions on this process from outside are not the candidate's
};

class Worker {
 public:
  Worker(WorkerSetup setup, const SharedMemory& pool);  // starts the process and loads the kernel

  const protocol::Loaded& loaded() const { return loaded_; }    // its reply to `load`
  bool compiles() const { return !loaded_.compilers.empty(); }  // when its function is called
  // Makes autotuners use these choices. Returns the choices made so far.
  std::vector<TunedKernel> pin(const std::vector<TunedKernel>& tuned, double seconds);
  void set_problem(const protocol::ProblemMessage& problem, double seconds);
  // Passes the constant inputs in the pool to the kernel's setup function, if it has one, before inputs of
  // timed calls are drawn. Returns the time in ns.
  double set_up(double seconds);
  void prepare(const std::vector<protocol::Offsets>& calls, double seconds);
  // Runs the prepared calls. `wall_ns` receives the time as seen by this process.
  protocol::Timed go(double seconds, double& wall_ns, protocol::Go request = {});
  // How long that process and ours were ready but had no processor during the last go().
  double waited_ns() const { return waited_ns_; }
  // Copies the outputs of that call to results().
  protocol::Kept keep(std::size_t call, double seconds);

  protocol::Launches launches(double seconds);
  // Closes the pipe and waits until the process has ended by itself, which a profiler needs. No request may
  // follow.
  Ending finish(double seconds);

  const std::byte* results() const { return results_.data(); }
  // Between pause() and resume() the process must not run, and no process may act on it. Both throw
  // KernelFailed if that was violated; `role` of the failure names the culprit.
  void pause();
  void resume();
  // Throws KernelFailed if it tried to act on a foreign process.
  void check_confinement();
  // Throws KernelFailed if a file whose code the process runs was written to, since mapped code changes with
  // its file. The candidate is blamed, whichever process it is.
  void check_code() const;
  // Throws KernelFailed if the kernel has rewritten code of dent or of the system in its own process, as far
  // as the system reveals that.
  void check_own_code();
  pid_t group() const { return process_->id(); }   // process group of all its processes
  pid_t process() { return process_->program(); }  // process that runs the kernel
  Role role() const { return setup_.role; }

 private:
  // Sends request `verb` with the given fields and reads the reply's; either may be empty.
  void ask(protocol::Verb verb, const Pass& request, const Pass& answer, double seconds);
  DeviceTurns::Turn turn_for(protocol::Verb verb) const;
  std::string read_line(double seconds);
  void refuse_unasked();
  bool becomes_ready(int descriptor, short events);  // waits for a short time
  [[noreturn]] void accuse(Role who, Cheat of, const std::string& what);
  [[noreturn]] void touched_from_outside(FailureKind kind, const std::string& what);
  [[noreturn]] void fail(FailureKind kind, const std::string& what);
  [[noreturn]] void fail_internally(const std::string& what);
  [[noreturn]] void fail_over_memory();
  [[noreturn]] void fail_as_it_ended();

  WorkerSetup setup_;
  struct Remover {  // removes the scratch folder after the process has ended
    const WorkerSetup& setup;
    ~Remover();
  } remover_{setup_};
  SharedMemory results_;
  std::optional<Process> process_;
  Conditions dents_;  // dent's own, when the worker was started
  struct CodeFile {
    std::filesystem::path path;
    struct stat was;
  };
  std::vector<CodeFile> code_;
  int requests_ = -1;
  int replies_ = -1;
  std::string unread_;
  std::int64_t next_id_ = 1;
  protocol::Verb doing_ = protocol::Verb::load;
  double waited_ns_ = 0;
  bool first_call_ = false;  // of the current problem
  protocol::Loaded loaded_;

  struct Closer {  // closes the pipe even if the constructor throws
    Worker& worker;
    ~Closer();
  } closer_{*this};
};

}  // namespace dent
