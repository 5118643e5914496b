// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include "diagnose/cpu_counters.h"
#include "diagnose/instruction_mix.h"
#include "diagnose/profile.h"

namespace dent::cpu_test {
namespace {

TEST(InstructionMix, TellsVectorsFromScalarsOnX86) {
  const auto mix = count_instructions(
      "a.so:     file format elf64-x86-64\n"
      "    1139:\tvfmadd231ps %ymm0,%ymm1,%ymm2\n    113e:\tmulss  %xmm0,%xmm1\n    1142:\tvaddpd "
      "%ymm0,%ymm1,%ymm2\n"
      "    1146:\tvmovaps %ymm0,(%rax)\n    114a:\tadd    $0x20,%rax\n    114e:\tvsqrtsd "
      "%xmm0,%xmm0,%xmm0\n");
  EXPECT_EQ(mix.vector, 2);
  EXPECT_EQ(mix.scalar, 2);
}

TEST(InstructionMix, TellsVectorsFromScalarsOnArm) {
  const auto mix = count_instructions(
      "a.so:     file format elf64-littleaarch64\n"
      "  4005f8:\tfmla\tv0.4s, v1.4s, v2.4s\n  4005fc:\tfmadd\ts0, s1, s2, s3\n  400600:\tfmul\tz0.s, z1.s, "
      "z2.s\n"
      "  400604:\tadd\tx0, x1, #0x10\n  400608:\tbfmmla\tv0.4s, v1.8h, v2.8h\n  40060c:\tfadd\td0, d1, d2\n");
  EXPECT_EQ(mix.vector, 3);
  EXPECT_EQ(mix.scalar, 2);
}

TEST(CpuCounters, GiveNumbersOrSayWhyNot) {
  const CpuCounters counters(getpid());
  volatile double x = 1;
  for (int i = 0; i < 3'000'000; ++i) x = x * 1.0000001;
  const Quantities counts = counters.read();
  for (const char* name : {"instructions", "cycles"}) {
    const Reading reading = counts.at(name);
    if (counters.refusal().empty()) {
      EXPECT_GT(reading.value, 1e6) << name;
    } else {
      EXPECT_EQ(reading.presence, Presence::not_applicable) << name;
      EXPECT_FALSE(reading.why.empty());
    }
  }
  EXPECT_TRUE(!counts.has("cpu_ns") || counts["cpu_ns"] > 1e5);
}

TEST(Profile, KernelsAreCalledByTheirShortNames) {
  EXPECT_EQ(short_name("void naive::naive_forward<naive::Spec<fp16>>(ForwardParams)"), "naive_forward");
  EXPECT_EQ(short_name("planted_two_ctas(const float *, float *)"), "planted_two_ctas");
  EXPECT_EQ(short_name("_Z7softmaxPf"), "softmax");  // mangled, as from a driver
  EXPECT_EQ(short_name("_ZN5naive4rowsINS_4SpecILi2ELb0EEEEEvNS_6ParamsE"), "rows");
  EXPECT_EQ(short_name("void (anonymous namespace)::rows<4>(int)"), "rows");
  EXPECT_EQ(short_name("void <unnamed>::rows<4>(int)"), "rows");
  EXPECT_EQ(short_name("_Zebra"), "_Zebra");
}

}  // namespace
}  // namespace dent::cpu_test
