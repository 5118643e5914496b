// SPDX-License-Identifier: MIT
#include "system/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "system/process_table.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1  // Linux 5.5; older headers lack it
#endif

namespace dent {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif
#if defined(__x86_64__)
constexpr std::uint32_t kOtherAbi = 0x40000000;  // system call numbers of the x32 ABI begin here
#endif
constexpr std::uint32_t kFcntlSetOwner = F_SETOWN;
constexpr std::uint32_t kFcntlSetOwnerEx = 15;                             // F_SETOWN_EX
constexpr std::uint32_t kIoctlSetOwner = 0x8901, kIoctlSetGroup = 0x8902;  // FIOSETOWN, SIOCSPGRP
constexpr int kSetSyscallUserDispatch = 59;                                // of prctl
constexpr std::uint32_t kIoWhoProcess = 1, kIoWhoGroup = 2;                // ioprio_set

// Which argument of a system call identifies the process that it acts on.
enum class Names {
  process,      // argument 0; 0 means the caller
  signalled,    // kill: argument 0, or a group if negative; signal 0 has no effect
  limited,      // prlimit: argument 0; without new limits it only reads
  second,       // argument 1
  traced,       // ptrace: argument 1; PTRACE_TRACEME names no process
  prioritised,  // setpriority: argument 0 selects process, group or user
  io_class,     // ioprio_set: argument 0 selects as in setpriority
  descriptor,   // argument 0, a process file descriptor
  owner,        // fcntl: the process to signal
  clock,        // acts on the machine's clock
  filter,       // seccomp, unless it only queries
  handler,      // prctl: lets the caller's own code intercept its system calls
};

struct Guarded {
  long call;
  const char* name;
  Names names;
};
constexpr Guarded kGuarded[] = {
    {SYS_kill, "kill", Names::signalled},
    {SYS_tkill, "tkill", Names::process},
    {SYS_tgkill, "tgkill", Names::process},
    {SYS_rt_sigqueueinfo, "rt_sigqueueinfo", Names::process},
    {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo", Names::process},
    {SYS_pidfd_open, "pidfd_open", Names::process},
    {SYS_pidfd_send_signal, "pidfd_send_signal", Names::descriptor},
    {438, "pidfd_getfd", Names::descriptor},
    {440, "process_madvise", Names::descriptor},
    {SYS_sched_setaffinity, "sched_setaffinity", Names::process},
    {SYS_sched_setscheduler, "sched_setscheduler", Names::process},
    {SYS_sched_setparam, "sched_setparam", Names::process},
    {SYS_sched_setattr, "sched_setattr", Names::process},
    {SYS_setpriority, "setpriority", Names::prioritised},
    {SYS_ioprio_set, "ioprio_set", Names::io_class},
    {SYS_prlimit64, "prlimit", Names::limited},
    {SYS_ptrace, "ptrace", Names::traced},
    {SYS_process_vm_readv, "process_vm_readv", Names::process},
    {SYS_process_vm_writev, "process_vm_writev", Names::process},
    {SYS_move_pages, "move_pages", Names::process},
    {SYS_migrate_pages, "migrate_pages", Names::process},
    {SYS_perf_event_open, "perf_event_open", Names::second},
    {SYS_fcntl, "fcntl(F_SETOWN)", Names::owner},
    {SYS_clock_settime, "clock_settime", Names::clock},
    {SYS_settimeofday, "settimeofday", Names::clock},
    {SYS_adjtimex, "adjtimex", Names::clock},
    {SYS_clock_adjtime, "clock_adjtime", Names::clock},
    {SYS_seccomp, "seccomp", Names::filter},
    {SYS_prctl, "prctl", Names::handler},
};
// System calls of io_uring, which are refused because calls queued in a ring bypass the filter. Libraries
// work without io_uring if the system lacks it.
constexpr long kRings[] = {425 /*io_uring_setup*/, 426 /*io_uring_enter*/, 427 /*io_uring_register*/};

// Capabilities of root that a confined process gives up: over other processes, and over the machine.
constexpr int kGivenUp[] = {CAP_KILL,
                            CAP_SYS_PTRACE,
                            CAP_SYS_NICE,
                            CAP_SYS_RESOURCE,
                            CAP_SYS_TIME,
                            CAP_SYS_ADMIN,
                            CAP_SYS_MODULE,
                            CAP_SYS_BOOT,
                            CAP_SYS_RAWIO,
                            CAP_SYS_PACCT,
                            38 /*PERFMON*/,
                            39 /*BPF*/,
                            40 /*CHECKPOINT_RESTORE*/};

// Builds the BPF filter in a fixed array, since nothing may be allocated between fork and exec.
class Filter {
 public:
  explicit Filter(std::uint32_t self) : self_(self) {
    load(offsetof(seccomp_data, arch));
    unless(kArchitecture, [this] { give(SECCOMP_RET_ERRNO | ENOSYS); });
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherAbi, 0, 1));
    give(SECCOMP_RET_ERRNO | ENOSYS);
#endif
    for (const Guarded& guarded : kGuarded) {
      when(static_cast<std::uint32_t>(guarded.call), [&] { judge(guarded.names); });
    }
    for (const long ring : kRings)
      when(static_cast<std::uint32_t>(ring), [this] { give(SECCOMP_RET_ERRNO | ENOSYS); });
    when(SYS_userfaultfd, [this] { give(SECCOMP_RET_ERRNO | EPERM); });  // reason in cpu_device.cpp
    when(SYS_ioctl, [this] {
      argument(1);
      when(kIoctlSetOwner, [this] { give(SECCOMP_RET_ERRNO | EPERM); });
      when(kIoctlSetGroup, [this] { give(SECCOMP_RET_ERRNO | EPERM); });
      give(SECCOMP_RET_ALLOW);
    });
    give(SECCOMP_RET_ALLOW);
  }

  sock_fprog program() { return {length_, code_.data()}; }

 private:
  void add(sock_filter step) { code_.at(length_++) = step; }
  void load(std::size_t at) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at))); }
  void give(std::uint32_t answer) { add(BPF_STMT(BPF_RET | BPF_K, answer)); }
  // Loads an argument's low half: these calls take ints, and both architectures are little-endian.
  void argument(int which) { load(offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(which)); }
  void upper_half(int which) { load(offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(which) + 4); }

  template <class Body>
  void when(std::uint32_t value, Body body) {
    const std::size_t jump = length_;
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
    body();
    code_.at(jump).jf = static_cast<std::uint8_t>(length_ - jump - 1);
  }
  template <class Body>
  void unless(std::uint32_t value, Body body) {
    const std::size_t jump = length_;
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
    body();
    code_.at(jump).jt = static_cast<std::uint8_t>(length_ - jump - 1);
  }

  void allow_if(std::uint32_t value) {
    when(value, [this] { give(SECCOMP_RET_ALLOW); });
  }
  void allow_self(int which) {
    argument(which);
    allow_if(0);
    allow_if(self_);
  }
  void allow_self_of(std::uint32_t process, std::uint32_t group) {
    argument(0);
    for (const std::uint32_t kind : {process, group}) {
      when(kind, [this] {
        allow_self(1);
        give(SECCOMP_RET_USER_NOTIF);
      });
    }
  }

  // Emits instructions that end with a decision about the call.
  void judge(Names names) {
    switch (names) {
      case Names::process:
        allow_self(0);
        break;
      case Names::signalled:
        argument(1);
        allow_if(0);
        allow_self(0);
        allow_if(-self_);
        break;
      case Names::limited:
        allow_self(0);
        argument(2);
        when(0, [this] {
          upper_half(2);
          allow_if(0);
        });
        break;
      case Names::second:
        allow_self(1);
        break;
      case Names::traced:
        argument(0);
        when(PTRACE_TRACEME, [this] { give(SECCOMP_RET_ERRNO | EPERM); });
        break;
      case Names::prioritised:
        allow_self_of(PRIO_PROCESS, PRIO_PGRP);
        break;
      case Names::io_class:
        allow_self_of(kIoWhoProcess, kIoWhoGroup);
        break;
      case Names::owner:
        argument(1);
        when(kFcntlSetOwnerEx, [this] { give(SECCOMP_RET_ERRNO | EPERM); });
        unless(kFcntlSetOwner, [this] { give(SECCOMP_RET_ALLOW); });
        allow_self(2);
        allow_if(-self_);
        break;
      case Names::filter:
        argument(0);
        unless(SECCOMP_SET_MODE_FILTER, [this] { give(SECCOMP_RET_ALLOW); });
        break;
      case Names::handler:
        argument(0);
        when(PR_SET_SECCOMP, [this] { give(SECCOMP_RET_USER_NOTIF); });
        when(kSetSyscallUserDispatch, [this] { give(SECCOMP_RET_USER_NOTIF); });
        give(SECCOMP_RET_ALLOW);
        break;
      case Names::descriptor:
      case Names::clock:
        break;
    }
    give(SECCOMP_RET_USER_NOTIF);
  }

  std::uint32_t self_;
  std::array<sock_filter, 320> code_{};
  unsigned short length_ = 0;
};

void give_up_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return;
  for (const int right : kGivenUp) {
    auto& word = data[right / 32];
    const std::uint32_t keep = ~(1U << static_cast<unsigned>(right % 32));
    word.effective &= keep;
    word.permitted &= keep;
    word.inheritable &= keep;
  }
  syscall(SYS_capset, &header, data);
}

// The process, or the resource, that a waiting call acts on.
struct Target {
  enum class Kind { process, everyone, clock, own_calls, unknown } kind = Kind::unknown;
  pid_t process = 0;
};

Target from_kill(std::int32_t number) {
  if (number == -1) return {Target::Kind::everyone, 0};
  return {Target::Kind::process, std::abs(number)};  // a group has its leader's number
}

Target target_of(const seccomp_data& data, Names names) {
  const auto argument = [&data](int which) { return static_cast<std::int32_t>(data.args[which]); };
  switch (names) {
    case Names::process:
    case Names::limited:
      return {Target::Kind::process, argument(0)};
    case Names::signalled:
      return from_kill(argument(0));
    case Names::traced:
      return {Target::Kind::process, argument(1)};
    case Names::second:
      return from_kill(argument(1));
    case Names::prioritised:
      if (argument(0) == PRIO_USER) return {Target::Kind::everyone, 0};
      return {Target::Kind::process, argument(1)};
    case Names::io_class:
      if (argument(0) != kIoWhoProcess && argument(0) != kIoWhoGroup) return {Target::Kind::everyone, 0};
      return {Target::Kind::process, argument(1)};
    case Names::owner:
      return from_kill(argument(2));
    case Names::clock:
      return {Target::Kind::clock, 0};
    case Names::filter:
    case Names::handler:
      return {Target::Kind::own_calls, 0};
    case Names::descriptor:
      break;
  }
  return {};
}

// The process that a pidfd of another process refers to; 0 if unknown.
pid_t process_behind(pid_t holder, int descriptor) {
  std::ifstream info("/proc/" + std::to_string(holder) + "/fdinfo/" + std::to_string(descriptor));
  for (std::string key; info >> key;) {
    pid_t process = 0;
    if (key == "Pid:" && info >> process) return process;
    info.ignore(1 << 12, '\n');
  }
  return 0;
}

bool is_family(pid_t process, pid_t leader) {
  return process == leader || getsid(process) == leader || is_below(process, leader);
}

}  // namespace

int confine_myself(pid_t self) {
  if (kArchitecture == 0) return -ENOSYS;
  give_up_rights();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  Filter filter(static_cast<std::uint32_t>(self));
  sock_fprog program = filter.program();
  const auto listener =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  return listener < 0 ? -errno : static_cast<int>(listener);
}

const std::string& why_not_confined() {
  static const std::string why = [] {
    const pid_t child = fork();
    if (child == 0) {
      const int listener = confine_myself(getpid());
      _exit(listener < 0 ? -listener : 0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::string();
    return std::string("no seccomp filter with a supervisor: ") +
           std::strerror(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EPERM);
  }();
  return why;
}

const std::optional<ConfinementSupervisor::Refused>& ConfinementSupervisor::attend() {
  for (pollfd waiting{listener_.get(), POLLIN, 0};
       ::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN) != 0;) {
    seccomp_notif call{};
    if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
      if (errno == EINTR || errno == ENOENT) continue;  // the caller has ended
      break;
    }
    const auto* guarded = std::find_if(std::begin(kGuarded), std::end(kGuarded),
                                       [&call](const Guarded& g) { return g.call == call.data.nr; });
    if (guarded == std::end(kGuarded)) continue;
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.error = -EPERM;
    std::string whom;
    Target target = target_of(call.data, guarded->names);
    const bool by_descriptor = guarded->names == Names::descriptor;
    if (by_descriptor) {
      target.process =
          process_behind(static_cast<pid_t>(call.pid), static_cast<std::int32_t>(call.data.args[0]));
      if (target.process > 0) target.kind = Target::Kind::process;
    }
    const bool in_cell = number_in_cell(static_cast<pid_t>(call.pid)) > 0;
    switch (target.kind) {
      case Target::Kind::process:
        if (in_cell) {
          const pid_t number = by_descriptor ? number_in_cell(target.process) : target.process;
          if (number == kFirstInCell || number == 0) {
            whom = "the init process of its sandbox";
          } else if (guarded->names == Names::traced) {
            whom = fmt::format("process {} of its cell", number);
          } else {
            answer.error = 0;
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
          }
        } else if (getpgid(target.process) < 0) {
          answer.error = -ESRCH;
        } else if (guarded->names != Names::traced && is_family(target.process, leader_)) {
          answer.error = 0;
          answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        } else {
          whom = target.process == getpid()
                     ? "dent itself"
                     : "process " + std::to_string(target.process) + " (" + name_of(target.process) + ")";
        }
        break;
      case Target::Kind::everyone:
        whom = "every process of this user";
        break;
      case Target::Kind::clock:
        whom = "the clock of this machine";
        break;
      case Target::Kind::own_calls:
        whom = "its own system calls";
        break;
      case Target::Kind::unknown:
        break;  // refused, but not evidence of an attack
    }
    if (!whom.empty() && !refused_)
      refused_ = {std::string(guarded->name) + " on " + whom, target.kind == Target::Kind::own_calls};
    ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  return refused_;
}

}  // namespace dent
