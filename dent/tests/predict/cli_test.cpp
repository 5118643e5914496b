// SPDX-License-Identifier: MIT
// Runs dent predict and dent devices as users and scripts do.
#include <gtest/gtest.h>

#include "session/dent_program.h"

namespace dent::test::cli_test {
namespace {

// Without the option -p that ScratchProject's dent() adds, and with a separate data folder.
Ran predict(const ScratchProject& scratch, std::vector<std::string> arguments) {
  return scratch.dent(std::move(arguments), 20, "XDG_DATA_HOME='" + scratch.folder().string() + "'");
}

TEST(PredictCli, TheUsersCaseIsTheFirstLine) {
  const ScratchProject scratch;
  const Ran ran = predict(
      scratch, {"predict", "attention", "--device", "l4", "--shape", "1,1,128,64", "--kernel", "naive"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out.substr(0, ran.out.find('\n')), "2 CTAs on 58 SMs: 3.4 % of the L4 works");
  EXPECT_NE(ran.out.find("kv_splits 1 -> 32: 2 -> 64 CTAs"), std::string::npos) << ran.out;
}

TEST(PredictCli, ASweepIsOneDocumentAndOnePicture) {
  const ScratchProject scratch;
  const std::string plot = (scratch.folder() / "times.svg").string();
  const Ran ran =
      predict(scratch, {"predict", "attention", "--device", "l4,h200", "--shape", "1,8,128..512,64",
                        "--shape", "2,4,64,128", "--causal", "--json", "--plot", plot});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto told = ran.json();
  EXPECT_EQ(told["schema"], 1);
  EXPECT_EQ(told["command"], "predict");
  ASSERT_EQ(told["predictions"].size(), 8U);
  EXPECT_EQ(told["predictions"][0]["device"], "L4");
  EXPECT_EQ(told["predictions"][7]["device"], "H200");
  EXPECT_TRUE(scratch.read("times.svg").starts_with("<svg"));
}

TEST(PredictCli, AKernelIsReadFromACompiledFileOrGiven) {
  const ScratchProject scratch;
  const Ran read =
      predict(scratch, {"predict", "kernel", "--device", "a100", "--object", DENT_TEST_CUBIN, "--kernel",
                        "with_shared", "--grid", "1024,16", "--block", "128", "--bytes", "1e9", "--json"});
  EXPECT_EQ(read.code, 0) << read.err;
  const auto prediction = read.json()["predictions"][0];
  EXPECT_EQ(prediction["block"]["smem_bytes"], 4096);
  EXPECT_EQ(prediction["dominating"], "dram");
  const Ran given =
      predict(scratch, {"predict", "--device", "a100", "--regs", "200", "--smem", "50000", "--threads", "256",
                        "--grid", "1000", "--flops", "1e12", "--dtype", "fp8"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_NE(given.out.find("limited by registers"), std::string::npos) << given.out;
}

TEST(PredictCli, WhatAPersonKnowsOfAKernelCanBeSaid) {
  const ScratchProject scratch;
  const auto expected_us = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"predict", "kernel", "--device", "h200",    "--grid", "1024",  "--block",
                                   "256",     "--regs", "32",       "--bytes", "8e6",    "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = predict(scratch, words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["predictions"][0]["expected_us"].get<double>();
  };
  const double plain = expected_us({});
  EXPECT_LT(expected_us({"--warm"}), plain);
  EXPECT_GT(expected_us({"--trips", "50"}), 2 * plain);
  EXPECT_GT(expected_us({"--l2-bytes", "1e9"}), 2 * plain);
  EXPECT_GT(expected_us({"--l1-bytes", "1e10"}), 2 * plain);
}

TEST(DevicesCli, AGpuOfThisMachineIsNamedWithWhatItsDriverSays) {
  const ScratchProject scratch;
  scratch.write("nvidia-smi", "#!/bin/sh\necho 'NVIDIA H200, 580.159.04, 143771, 1980, 700.00'\n");
  std::filesystem::permissions(scratch.folder() / "nvidia-smi", std::filesystem::perms::owner_all);
  const Ran ran = scratch.dent({"devices"}, 20, "PATH='" + scratch.folder().string() + "':\"$PATH\"");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("cuda  NVIDIA H200, 143771 MiB, driver 580.159.04"), std::string::npos) << ran.out;
}

TEST(PredictCli, MistakesAreUsageErrorsThatSayWhatIsAccepted) {
  const ScratchProject scratch;
  for (const auto& [arguments, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"predict", "attention", "--device", "voodoo", "--shape", "1,1,128,64"}, "H200"},
           {{"predict", "attention", "--device", "l4"}, "--shape"},
           {{"predict", "attention", "--device", "l4", "--shape", "1,1,128"}, "B,H,S,D"},
           {{"predict", "attention", "--device", "l4", "--shape", "1,1,128,512"}, "head_dim"},
           {{"predict", "kernel", "--device", "l4"}, "--grid"},
           {{"predict", "kernel", "--device", "h200", "--grid", "9", "--block", "2048", "--bytes", "1e6"},
            "2048 threads; a block may have 1024"},
           {{"predict", "kernel", "--device", "h200", "--grid", "9", "--block", "256", "--regs", "300"},
            "300 registers; a thread may have 255"},
           {{"predict", "kernel", "--device", "l4", "--grid", "1", "--block", "32", "--dtype", "fp4"}, "fp8"},
       }) {
    const Ran ran = predict(scratch, arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(words), std::string::npos) << ran.err;
  }
}

TEST(DevicesCli, ListsEveryGpuWithItsSources) {
  const ScratchProject scratch;
  const Ran ran = predict(scratch, {"devices", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto known = ran.json()["known"];
  ASSERT_EQ(known.size(), 11U);
  for (const auto& gpu : known) {
    for (const auto& [key, figure] : gpu["figures"].items()) {
      EXPECT_GT(figure["value"].get<double>(), 0) << gpu["name"] << key;
      EXPECT_FALSE(figure["source"].get<std::string>().empty()) << gpu["name"] << key;
    }
  }
  const Ran one = predict(scratch, {"devices", "--gpu", "h200"});
  EXPECT_NE(one.out.find("measured"), std::string::npos) << one.out;
}

TEST(DevicesCli, MeasuringWithoutAGpuSaysSo) {
  const ScratchProject scratch;
  if (std::system("nvidia-smi -L >/dev/null 2>&1") == 0) GTEST_SKIP() << "there is a GPU here";
  const Ran ran = predict(scratch, {"devices", "--measure"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("no GPU"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace dent::test::cli_test
