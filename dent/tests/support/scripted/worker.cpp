// SPDX-License-Identifier: MIT
// A worker that runs the kernel it was given, and says that this took what the kernel's library says.
#include <dlfcn.h>

#include <random>

#include "workers/native/host.h"

namespace dent {
namespace {

constexpr double kUsualNs = 1e6, kUsualSpread = 0.002;

class ScriptedHost : public NativeHost {
 public:
  protocol::Loaded load(const protocol::Load& request) override {
    protocol::Loaded loaded = NativeHost::load(request);
    if (library() == nullptr) return loaded;
    ns_ = said("scripted_ns", request.entry, kUsualNs);
    spread_ = said("scripted_spread", request.entry, kUsualSpread);
    return loaded;
  }

  protocol::Timed go(const protocol::Go& request) override {
    protocol::Timed timed = NativeHost::go(request);
    if (library() == nullptr) return timed;  // the loop around a call
    const double ns = ns_ * (1 + spread_ * next_offset());
    timed.ns = ns * static_cast<double>(sets().prepared().size());
    timed.slowest = ns;
    return timed;
  }

 private:
  double said(const char* symbol, const std::string& entry, double otherwise) const {
    const auto function = reinterpret_cast<double (*)(const char*)>(dlsym(library(), symbol));
    return function != nullptr ? function(entry.c_str()) : otherwise;
  }

  // From -1 to 1. Two above, two below: every other stretch is a lead-in, which no sample sees.
  double next_offset() {
    const double sign = (stretches_++ / 2) % 2 == 0 ? 1 : -1;
    return sign * std::uniform_real_distribution<double>(0.5, 1)(random_);
  }

  double ns_ = kUsualNs, spread_ = kUsualSpread;
  std::size_t stretches_ = 0;
  std::mt19937_64 random_{42};
};

}  // namespace
}  // namespace dent

int main() {
  dent::ScriptedHost host;
  return dent::serve(host);
}
