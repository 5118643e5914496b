// SPDX-License-Identifier: MIT
// The parent's end of a worker: a process that runs one kernel. Whatever happens over there comes out of
// these functions as an answer or as KernelFailed, within its time limit.
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
  std::vector<std::string> argv;  // the worker program
  protocol::Load load;            // its first request: what to load
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path directory;
  std::filesystem::path log;
  std::int64_t memory_bytes = 0;
  bool hard_memory_limit = false;
  std::size_t result_bytes = 0;
  double load_seconds = 60;
  double compile_seconds = 0;       // that the first call of a problem may take longer, where it compiles
  std::filesystem::path scratch{};  // a folder of its own, removed with it; empty: none
  bool confined = false;            // see system/confinement.h
  DeviceTurns* turns = nullptr;     // for kernels of a GPU: every call is one's own turn
  Cell cell{Sandbox::off};
  CellView view{};  // what it sees in its cell
  bool candidate_confined =
      false;  // so that what is done to this one from outside is not the candidate's doing
};

class Worker {
 public:
  Worker(WorkerSetup setup, const SharedMemory& pool);  // starts it and loads the kernel

  const protocol::Loaded& loaded() const { return loaded_; }    // what it said about itself
  bool compiles() const { return !loaded_.compilers.empty(); }  // when its function is called
  // Autotuners take these choices from now on. Answers what they have chosen so far.
  std::vector<TunedKernel> pin(const std::vector<TunedKernel>& tuned, double seconds);
  void set_problem(const protocol::ProblemMessage& problem, double seconds);
  // Lets its function see the constant inputs that lie in the pool, where it has one for them; before those
  // of a timed call are drawn. What that took, in ns.
  double set_up(double seconds);
  void prepare(const std::vector<protocol::Offsets>& calls, double seconds);
  // The calls that were prepared. `wall_ns` gets the time as this process saw it.
  protocol::Timed go(double seconds, double& wall_ns, protocol::Go request = {});
  // How long that process and ours were ready to run during the last go(), and had no processor.
  double waited_ns() const { return waited_ns_; }
  // Puts the outputs of that call into results().
  protocol::Kept keep(std::size_t call, double seconds);

  protocol::Launches launches(double seconds);
  // Hangs up and waits until it has left by itself, as a profiler needs it. No request may follow.
  Ending finish(double seconds);

  const std::byte* results() const { return results_.data(); }
  // Between these it stands still, and is left alone. Both throw KernelFailed where it, or another, has not
  // kept to that: `role` of the failure says who.
  void pause();
  void resume();
  // Throws KernelFailed when it has reached for a process that is not its own.
  void check_confinement();
  // Throws KernelFailed when a file whose code it runs was written to: what is in memory changes with the
  // file. That is the candidate's doing, whosever process it is.
  void check_code() const;
  // Throws KernelFailed when the kernel has rewritten code of dent's or the system's in its own process, as far
  // as the system shows that.
  void check_own_code();
  pid_t group() const { return process_->id(); }   // of all its processes
  pid_t process() { return process_->program(); }  // that runs the kernel
  Role role() const { return setup_.role; }

 private:
  // Asks `verb` with the request's fields, and reads the answer's; either may be empty.
  void ask(protocol::Verb verb, const Pass& request, const Pass& answer, double seconds);
  DeviceTurns::Turn turn_for(protocol::Verb verb) const;
  std::string read_line(double seconds);
  void refuse_unasked();
  bool becomes_ready(int descriptor, short events);  // waits a little
  [[noreturn]] void accuse(Role who, Cheat of, const std::string& what);
  [[noreturn]] void touched_from_outside(FailureKind kind, const std::string& what);
  [[noreturn]] void fail(FailureKind kind, const std::string& what);
  [[noreturn]] void fail_internally(const std::string& what);
  [[noreturn]] void fail_over_memory();
  [[noreturn]] void fail_as_it_ended();

  WorkerSetup setup_;
  struct Remover {  // of its folder, once its process is gone
    const WorkerSetup& setup;
    ~Remover();
  } remover_{setup_};
  SharedMemory results_;
  std::optional<Process> process_;
  Conditions dents_;  // when it was started
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
  bool first_call_ = false;  // of the problem
  protocol::Loaded loaded_;

  struct Closer {  // closes the pipe's ends whatever the constructor throws
    Worker& worker;
    ~Closer();
  } closer_{*this};
};

}  // namespace dent
