// SPDX-License-Identifier: MIT
// Functions that compile when called, and Triton's interpreter on machines without a GPU.
#include <gtest/gtest.h>

#include <cstdlib>

#include "session/dent_program.h"
#include "workers/resources.h"

namespace dent::test::jit_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = R"(version = 1
shapes = [{ name = "tiny", n = 37 }, { name = "small", n = 1000 }]
[kernel]
python = "kernel:scale"
[baseline.plain]
python = "plain:scale"
[operator]
name = "scale"
inputs.x = { shape = ["n"] }
outputs.y = { shape = ["n"] }
reference = { python = "plain:scale" }
)";

// Simulates compiling for a GPU that need not exist, and an autotuner. Choices of one process must be known
// to the next before its first call.
constexpr const char* kCompiles = R"(
import os
import pathlib

os.environ["TRITON_INTERPRET"] = "0"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 2)], key=["n"])
@triton.jit
def double(x, y, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def compiled():
    return {file: file.stat().st_mtime_ns for file in pathlib.Path(os.environ["TRITON_CACHE_DIR"]).rglob("*.cubin")}


def scale(x):
    before = compiled()
    if before and (37,) not in double.cache:
        raise RuntimeError("compiled before, and nothing is pinned")
    double.cache.setdefault((37,), double.configs[1])
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "TILE": "constexpr"}
    source = ASTSource(double.fn, signature=signature, constexprs={"TILE": 128})
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
    if before and before != compiled():
        raise RuntimeError("compiled before, and again")
    return 2 * x
)";

class Python : public ::testing::Test {
 protected:
  Python() : python_(find_python(DENT_EXAMPLES, "")) {}
  void SetUp() override { setenv("DENT_PYTHON", python_.c_str(), 1); }

  bool has(const char* module) const {
    return std::system(("'" + python_ + "' -c 'import " + module + "' >/dev/null 2>&1").c_str()) == 0;
  }
  void write_scale(const std::string& kernel) const {
    scratch_.write("dent.toml", kManifest);
    scratch_.write("kernel.py", kernel);
    scratch_.write("plain.py",
                   "DENT_FRAMEWORK = 'numpy'\n\n\ndef scale(x, y=None, n=None):\n    return 2 * x\n");
  }
  void copy(const std::string& example) const {
    for (const auto& entry : fs::directory_iterator(fs::path(DENT_EXAMPLES) / example)) {
      if (entry.is_regular_file())
        fs::copy_file(entry.path(), scratch_.folder() / entry.path().filename(),
                      fs::copy_options::overwrite_existing);
    }
  }

  const std::string python_;
  const ScratchProject scratch_;
};

class Triton : public Python {
 protected:
  void SetUp() override {
    Python::SetUp();
    if (!has("torch, triton")) GTEST_SKIP() << python_ << " can't import torch and triton";
  }
};

TEST_F(Python, AFunctionThatNeedsTheOutputsIsGivenThem) {
  if (!has("numpy")) GTEST_SKIP() << python_ << " can't import numpy";
  write_scale(
      "DENT_FRAMEWORK = 'numpy'\n\n\ndef scale(x, y, n):\n    assert len(y) == n\n    y[:] = 2 * x\n");
  const Ran right = scratch_.dent({"check"});
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  write_scale("DENT_FRAMEWORK = 'numpy'\n\n\ndef scale(x, y, n):\n    return 2 * x\n");
  const Ran unwritten = scratch_.dent({"check"});
  EXPECT_EQ(unwritten.code, 5) << unwritten.out << unwritten.err;
  EXPECT_NE(unwritten.err.find("37 were never written"), std::string::npos) << unwritten.err;
}

constexpr const char* kSetup = R"(
DENT_FRAMEWORK = "numpy"
kept = []


def setup(w, n):
    assert len(w) == n
    kept.append(3 * w)
    return kept[WHICH]


def scale(x, w, setup):
    return x + setup
)";

TEST_F(Python, ASetupIsGivenTheConstantInputsAndHasATimeOfItsOwn) {
  if (!has("numpy")) GTEST_SKIP() << python_ << " can't import numpy";
  std::string manifest = kManifest, kernel = kSetup;
  manifest.insert(manifest.find("outputs.y"), "inputs.w = { shape = [\"n\"], constant = true }\n");
  manifest += "[performance]\nseconds = 0.2\n";
  const std::size_t which = kernel.find("WHICH");
  const auto write = [&](const char* index) {
    write_scale(std::string(kernel).replace(which, 5, index));
    scratch_.write("dent.toml", manifest);
    scratch_.write("plain.py", "DENT_FRAMEWORK = 'numpy'\n\n\ndef scale(x, w):\n    return x + 3 * w\n");
  };
  write("-1");
  const Ran right = scratch_.dent({"bench", "--shape", "small", "--json"});
  // Timed by a real clock, so every verdict on speed is possible; but the kernel is right and both setup
  // times are recorded.
  ASSERT_TRUE(right.code == 0 || right.code == 6 || right.code == 8 || right.code == 15) << right.out;
  std::string ledger;
  for (const auto& session : fs::directory_iterator(scratch_.folder() / ".dent/sessions"))
    ledger += text_of(session.path() / "ledger.jsonl");
  EXPECT_NE(ledger.find("setup of the candidate"), std::string::npos) << ledger;
  EXPECT_EQ(ledger.find("setup of the baseline"), std::string::npos);
  write("0");  // uses the result for the first weights
  const Ran stale = scratch_.dent({"check"});
  EXPECT_EQ(stale.code, 5) << stale.out << stale.err;
}

TEST_F(Triton, ExamplesAreRightByItsInterpreter) {
  for (const char* example : {"triton-softmax", "triton-attention"}) {
    copy(example);
    const Ran ran = scratch_.dent({"check", "--shape", "tiny"}, 240, "DEVICE=cpu");
    EXPECT_EQ(ran.code, 0) << example << ": " << ran.out << ran.err;
  }
}

// CuTe DSL has no interpreter: the test needs the package and a GPU.
TEST_F(Python, TheExampleInCuteDslIsRightAndItsCompilerIsOnRecord) {
  if (!has("torch, cutlass.cute")) GTEST_SKIP() << python_ << " can't import torch and cutlass.cute";
  if (std::system(("'" + python_ + "' -c 'import torch; assert torch.cuda.is_available()' >/dev/null 2>&1")
                      .c_str()) != 0)
    GTEST_SKIP() << "PyTorch sees no GPU";
  copy("cute-scale");
  const Ran ran = scratch_.dent({"check"}, 240);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("CuTe DSL"), std::string::npos) << ran.err;
}

TEST_F(Triton, TheTemplateRunsAndAMistakeInItIsFound) {
  const fs::path folder = scratch_.folder();
  const auto init =
      run({.argv = {DENT_PROGRAM, "init", "triton", folder.string()}, .log = folder / "log"}, 60);
  ASSERT_EQ(init.ending.code, 0) << scratch_.read("log");
  const auto replace = [&](const char* file, const std::string& what, const char* with) {
    std::string text = scratch_.read(file);
    ASSERT_NE(text.find(what), std::string::npos);
    scratch_.write(file, text.replace(text.find(what), what.size(), with));
  };
  replace("dent.toml", "\"cuda\"", "\"cpu\"");
  const Ran right = scratch_.dent({"check", "--shape", "tiny"}, 240);
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  replace("kernel.py", "column < columns", "column < columns - 1");
  const Ran wrong = scratch_.dent({"check", "--shape", "tiny"}, 240);
  EXPECT_EQ(wrong.code, 5) << wrong.out << wrong.err;
}

TEST_F(Triton, WhatWasCompiledAndChosenIsOnRecordAndStays) {
  write_scale(kCompiles);
  const Ran first = scratch_.dent({"build", "--json"}, 240);
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  const auto build = first.json().at("report").at("build");
  EXPECT_EQ(build.at("binary_hash").get<std::string>().size(), 64U);
  EXPECT_TRUE(build.at("compilers").contains("triton"));
  ASSERT_EQ(build.at("kernels").size(), 1U);
  EXPECT_EQ(build.at("kernels").at(0).at("name"), "double");
  EXPECT_EQ(build.at("kernels").at(0).at("arch"), "sm_90");
  EXPECT_GT(build.at("kernels").at(0).at("registers"), 0);
  EXPECT_EQ(build.at("kernels").at(0).at("spill_bytes"), 0);
  ASSERT_EQ(build.at("tuned").size(), 1U);
  EXPECT_EQ(build.at("tuned").at(0).at("kernel"), "kernel.double");
  EXPECT_NE(build.at("tuned").at(0).at("config").get<std::string>().find("num_warps: 2"), std::string::npos);

  const Ran second = scratch_.dent({"check"}, 240);
  EXPECT_EQ(second.code, 0) << second.out << second.err;
  EXPECT_NE(second.err.find("compiled before"), std::string::npos) << second.err;
  for (const auto& entry : fs::directory_iterator(scratch_.folder() / ".dent/jit"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("running-")) << entry.path();
}

}  // namespace
}  // namespace dent::test::jit_test
