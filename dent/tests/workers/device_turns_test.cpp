// SPDX-License-Identifier: MIT
#include "workers/device_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "workers/input_source.h"

namespace dent::device_turns_test {
namespace {

// Devices are identified by name, so no GPU is needed to wait for one.
TEST(DeviceTurns, OfTwoSessionsOneWaitsAndIsToldForWhom) {
  DeviceTurns first(DeviceKind::cuda, "dent in /first"), second(DeviceKind::cuda, "dent in /second");
  std::string who;
  std::atomic<bool> waits = false, has = false;
  second.on_wait([&](const std::string& holder) {
    who = holder;
    waits = true;
  });
  const double waited_before = waited_for_turn_s();
  DeviceTurns::Turn turn = first.take_gpu();
  std::thread other([&] {
    const DeviceTurns::Turn mine = second.take_gpu();
    has = true;
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has);
  turn = {};
  other.join();
  EXPECT_TRUE(has);
  EXPECT_EQ(who.rfind("dent in /first (process ", 0), 0U) << who;
  EXPECT_GE(waited_for_turn_s() - waited_before, 0.02) << "no gate is charged for it";
}

TEST(DeviceTurns, OneWithinAnotherIsPartOfIt) {
  DeviceTurns turns(DeviceKind::cuda, "outer");
  DeviceTurns::Turn outer = turns.take();
  { const DeviceTurns::Turn inner = turns.take(); }
  DeviceTurns other(DeviceKind::cuda, "other");
  std::atomic<bool> waits = false;
  other.on_wait([&](const std::string&) { waits = true; });
  std::thread waiting([&] { other.take(); });
  while (!waits) std::this_thread::yield();  // ending the inner turn did not end the outer one
  outer = {};
  waiting.join();
}

TEST(DeviceTurns, KernelsOfTheCpuHaveNone) {
  DeviceTurns first(DeviceKind::cpu, "first"), second(DeviceKind::cpu, "second");
  const DeviceTurns::Turn one = first.take_gpu(), two = second.take_gpu();
}

// The function may use the GPU on which another session times kernels.
TEST(DeviceTurns, WhoMakesInputsWaitsForItsTurn) {
  Problem problem;
  problem.inputs = {{.name = "order", .sizes = {8}, .fill = {.kind = Fill::Kind::python}}};
  DeviceTurns neighbour(DeviceKind::cuda, "neighbour"), session(DeviceKind::cuda, "session");
  session.on_wait([](const std::string& holder) { throw Error(ErrorCode::invalid, holder, ""); });
  InputSource source(
      {problem}, [] { return nullptr; }, [&] { return session.take_gpu(); }, 1);
  const DeviceTurns::Turn timing = neighbour.take_gpu();
  try {
    source.renew(problem, 1);
    ADD_FAILURE() << "it did not wait";
  } catch (const Error& waits) {
    EXPECT_EQ(std::string(waits.what()).rfind("neighbour (process ", 0), 0U) << waits.what();
  }
}

}  // namespace
}  // namespace dent::device_turns_test
