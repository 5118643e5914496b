// SPDX-License-Identifier: MIT
#include "workers/native/host.h"

#include <dlfcn.h>
#include <sys/prctl.h>

#include <stdexcept>

#include "system/own_waiting.h"

namespace dent {
namespace {

void* function_in(void* library, const std::string& name) {
  void* function = dlsym(library, name.c_str());
  if (function == nullptr) {
    throw std::runtime_error("the library has no function \"" + name +
                             "\"; is it declared extern \"C\" and exported?");
  }
  return function;
}

}  // namespace

protocol::Loaded NativeHost::load(const protocol::Load& request) {
  gentle_end = request.profile;
  // Prevents other processes from accessing our memory through /proc; a profiler needs that access.
  if (!request.profile) prctl(PR_SET_DUMPABLE, 0);
  device_ = request.device == DeviceKind::cuda ? make_cuda_device(gentle_end) : make_cpu_device();
  if (request.library.empty()) {  // empty kernel, to measure the loop around a call
    entry_ = [](const dent_call*) { return 0; };
    return {protocol::WorkerKind::native, request.device, {}};
  }
  library_ = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(std::string("can't load the kernel: ") + dlerror());
  entry_ = reinterpret_cast<dent_entry>(function_in(library_, request.entry));
  if (!request.setup.empty())
    setup_.emplace(*device_, reinterpret_cast<dent_setup>(function_in(library_, request.setup)));
  protocol::Loaded loaded{protocol::WorkerKind::native, request.device, {}};
  loaded.sets_up = setup_.has_value();
  return loaded;
}

void NativeHost::set_problem(const protocol::ProblemMessage& problem) {
  sets_.reset();  // frees the old memory first
  sets_ = std::make_unique<CallSets>(*device_, problem);
  if (setup_) setup_->forget();
}

protocol::SetUp NativeHost::set_up() {
  if (!setup_) return Host::set_up();
  return {setup_->run(sets().problem(), pool)};
}

void NativeHost::prepare(const std::vector<protocol::Offsets>& calls) {
  sets().prepare(pool, calls, setup_ ? setup_->left() : nullptr);
  if (sets().flush()) device_->flush(sets().prepared());
}

protocol::Timed NativeHost::go(const protocol::Go& request) {
  const auto snapshot = [this](std::size_t call) { sets().snapshot(call); };
  const OwnWaiting waiting;
  protocol::Timed timed =
      request.in_graph ? device_->time_in_graph(entry_, sets().prepared(), sets().flush(), snapshot)
                       : device_->time(entry_, sets().prepared(), sets().flush(), request.lot, snapshot);
  timed.waited_ns = waiting.ns();
  return timed;
}

protocol::Kept NativeHost::keep(std::size_t call) { return sets().keep(call, pool, results); }

protocol::Launches NativeHost::launches() { return device_->launches(entry_, sets().prepared().at(0)); }

CallSets& NativeHost::sets() {
  if (!sets_) throw std::runtime_error("the worker was given no problem yet");
  return *sets_;
}

}  // namespace dent
