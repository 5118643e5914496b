// SPDX-License-Identifier: MIT
// dent-worker: loads one kernel from a shared library and runs it on request. Started by dent; see
// dent/docs/dent.md.
#include <dlfcn.h>
#include <sys/prctl.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "system/own_waiting.h"
#include "workers/native/call_sets.h"
#include "workers/native/setup.h"
#include "workers/serve.h"

namespace dent {
namespace {

class NativeHost : public Host {
 public:
  protocol::Loaded load(const protocol::Load& request) override {
    gentle_end = request.profile;
    // The other side could read and write our memory through /proc. A profiler has to.
    if (!request.profile) prctl(PR_SET_DUMPABLE, 0);
    device_ = request.device == DeviceKind::cuda ? make_cuda_device(gentle_end) : make_cpu_device();
    if (request.library.empty()) {  // how long the loop around a call takes, when the call does nothing
      entry_ = [](const dent_call*) { return 0; };
      return {protocol::WorkerKind::native, request.device, {}};
    }
    void* handle = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(std::string("can't load the kernel: ") + dlerror());
    entry_ = reinterpret_cast<dent_entry>(function_in(handle, request.entry));
    if (!request.setup.empty())
      setup_.emplace(*device_, reinterpret_cast<dent_setup>(function_in(handle, request.setup)));
    protocol::Loaded loaded{protocol::WorkerKind::native, request.device, {}};
    loaded.sets_up = setup_.has_value();
    return loaded;
  }

  void set_problem(const protocol::ProblemMessage& problem) override {
    sets_.reset();  // the old one's memory first
    sets_ = std::make_unique<CallSets>(*device_, problem);
    if (setup_) setup_->forget();
  }

  protocol::SetUp set_up() override {
    if (!setup_) return Host::set_up();
    return {setup_->run(sets().problem(), pool)};
  }

  void prepare(const std::vector<protocol::Offsets>& calls) override {
    sets().prepare(pool, calls, setup_ ? setup_->left() : nullptr);
    if (sets().flush()) device_->flush(sets().prepared());
  }

  protocol::Timed go(const protocol::Go& request) override {
    const auto snapshot = [this](std::size_t call) { sets().snapshot(call); };
    const OwnWaiting waiting;
    protocol::Timed timed =
        request.in_graph ? device_->time_in_graph(entry_, sets().prepared(), sets().flush(), snapshot)
                         : device_->time(entry_, sets().prepared(), sets().flush(), request.lot, snapshot);
    timed.waited_ns = waiting.ns();
    return timed;
  }

  protocol::Kept keep(std::size_t call) override { return sets().keep(call, pool, results); }

  protocol::Launches launches() override { return device_->launches(entry_, sets().prepared().at(0)); }

 private:
  static void* function_in(void* library, const std::string& name) {
    void* function = dlsym(library, name.c_str());
    if (function == nullptr) {
      throw std::runtime_error("the library has no function \"" + name +
                               "\"; is it declared extern \"C\" and exported?");
    }
    return function;
  }

  CallSets& sets() {
    if (!sets_) throw std::runtime_error("no problem has been set");
    return *sets_;
  }

  std::unique_ptr<Device> device_;
  dent_entry entry_ = nullptr;
  std::optional<Setup> setup_;
  std::unique_ptr<CallSets> sets_;
};

}  // namespace
}  // namespace dent

int main() {
  dent::NativeHost host;
  return dent::serve(host);
}
