// SPDX-License-Identifier: MIT
// Decode attention on the CPU over a K/V cache in rows of heads, [B, S, H, D], against the same cache in
// heads of rows, [B, H, S, D]: the ratio of their times. Calls take turns, in one process, on one memory.
//
//   decode_layouts [--seconds 2] [--threads 1] [--only "bf16 32/8"]
//
// On one thread the time is that thread's processor time, so that a busy machine disturbs it least.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "flashmoe/attention.h"
#include "numeric/half.h"

namespace {

using namespace flashmoe;

struct Case {
  DType dtype;
  int64_t heads, kv_heads, dim, keys;

  std::string name() const {
    char text[80];
    std::snprintf(text, sizeof text, "%s %lld/%lld heads of %lld, %lld keys",
                  dtype == DType::fp32   ? "fp32"
                  : dtype == DType::bf16 ? "bf16"
                                         : "fp16",
                  static_cast<long long>(heads), static_cast<long long>(kv_heads),
                  static_cast<long long>(dim), static_cast<long long>(keys));
    return text;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    all.push_back({dtype, 8, 8, 128, 8192});
    all.push_back({dtype, 32, 32, 64, 4096});
    all.push_back({dtype, 8, 8, 64, 8192});
    all.push_back({dtype, 12, 12, 64, 2048});
    all.push_back({dtype, 32, 8, 128, 8192});
    all.push_back({dtype, 32, 8, 64, 8192});
    all.push_back({dtype, 16, 8, 128, 4096});
    all.push_back({dtype, 12, 12, 64, 512});
  }
  return all;
}

class Decode {
 public:
  Decode(const Case& c, int threads) : case_(c) {
    const auto elements = static_cast<std::size_t>(c.kv_heads * c.keys * c.dim);
    const auto bytes = static_cast<std::size_t>(element_bytes(c.dtype));
    k_.resize(elements * bytes);
    v_.resize(elements * bytes);
    q_.resize(static_cast<std::size_t>(c.heads * c.dim) * bytes);
    out_.resize(q_.size());
    for (std::vector<std::byte>* memory : {&k_, &v_, &q_}) fill(*memory);
    threads_ = threads;
    space_.resize(std::max(forward_workspace_bytes(args(false)), forward_workspace_bytes(args(true))) +
                  kWorkspaceAlignment);
  }

  void run(bool in_rows) { attention_forward(args(in_rows), Workspace::in(space_.data(), space_.size())); }

 private:
  static int64_t element_bytes(DType dtype) { return dtype == DType::fp32 ? 4 : 2; }

  void fill(std::vector<std::byte>& memory) {
    std::normal_distribution<float> normal;
    const std::size_t bytes = static_cast<std::size_t>(element_bytes(case_.dtype));
    for (std::size_t at = 0; at < memory.size(); at += bytes) {
      const float x = normal(random_);
      const fp16 half = to_fp16(x);
      const bf16 brain = to_bf16(x);
      std::memcpy(&memory[at],
                  case_.dtype == DType::fp32   ? static_cast<const void*>(&x)
                  : case_.dtype == DType::fp16 ? static_cast<const void*>(&half)
                                               : static_cast<const void*>(&brain),
                  bytes);
    }
  }

  ForwardArgs args(bool in_rows) {
    const std::array<int64_t, 4> sizes{1, case_.kv_heads, case_.keys, case_.dim};
    Tensor k = Tensor::dense(k_.data(), case_.dtype, sizes);
    Tensor v = Tensor::dense(v_.data(), case_.dtype, sizes);
    if (in_rows) k.strides = v.strides = {k.strides[0], case_.dim, case_.kv_heads * case_.dim, 1};
    const std::array<int64_t, 4> row{1, case_.heads, 1, case_.dim};
    ForwardArgs args{.q = Tensor::dense(q_.data(), case_.dtype, row),
                     .k = k,
                     .v = v,
                     .out = Tensor::dense(out_.data(), case_.dtype, row)};
    args.execution.threads = threads_;
    return args;
  }

  Case case_;
  int threads_ = 1;
  std::mt19937 random_{1};
  std::vector<std::byte> k_, v_, q_, out_, space_;
};

double now_us(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void measure(const Case& c, int threads, double seconds) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  Decode decode(c, threads);
  std::vector<double> in_rows, in_heads, ratios;
  const double begin = now_us(CLOCK_MONOTONIC);
  for (int round = -1; round < 8 || now_us(CLOCK_MONOTONIC) - begin < 1e6 * seconds; ++round) {
    double us[2]{};
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (turn + round) & 1;  // neither is always the first
      const double start = now_us(clock);
      decode.run(which == 1);
      us[which] = now_us(clock) - start;
    }
    if (round < 0) continue;
    in_heads.push_back(us[0]);
    in_rows.push_back(us[1]);
    ratios.push_back(us[1] / us[0]);
  }
  std::printf("%-38s %10.1f %10.1f %9.3f   (%.3f to %.3f, %zu pairs)\n", c.name().c_str(),
              quantile(in_heads, 0.5), quantile(in_rows, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25),
              quantile(ratios, 0.75), ratios.size());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  double seconds = 2;
  int threads = 1;
  std::string only;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "--seconds") == 0) seconds = std::atof(words[i + 1]);
    if (std::strcmp(words[i], "--threads") == 0) threads = std::atoi(words[i + 1]);
    if (std::strcmp(words[i], "--only") == 0) only = words[i + 1];
  }
  std::printf("%-38s %10s %10s %9s   (quartiles)\n", "query row, keys and values", "BHSD us", "BSHD us",
              "ratio");
  for (const Case& c : cases()) {
    if (c.name().find(only) != std::string::npos) measure(c, threads, seconds);
  }
}
