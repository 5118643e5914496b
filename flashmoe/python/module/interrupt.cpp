// SPDX-License-Identifier: MIT
#include "interrupt.h"

#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace flashmoe_python {
namespace {

// Of the main thread alone, so one of each is enough.
int32_t pressed = 0;
struct sigaction before {};

void set_flag_and_pass_on(int signal) {
  __atomic_store_n(&pressed, 1, __ATOMIC_RELAXED);
  before.sa_handler(signal);
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

}  // namespace

Interrupt::Interrupt(bool is_long) {
  if (!is_long || !is_main_thread() || sigaction(SIGINT, nullptr, &before) != 0) return;
  const bool handled =
      (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  if (!handled) return;
  __atomic_store_n(&pressed, 0, __ATOMIC_RELAXED);
  struct sigaction own = before;
  own.sa_handler = set_flag_and_pass_on;
  installed_ = sigaction(SIGINT, &own, nullptr) == 0;
}

Interrupt::~Interrupt() {
  struct sigaction now {};
  // Whatever another part of the program has put there meanwhile stays.
  if (installed_ && sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == set_flag_and_pass_on)
    sigaction(SIGINT, &before, nullptr);
}

const int32_t* Interrupt::flag() const { return installed_ ? &pressed : nullptr; }

}  // namespace flashmoe_python
