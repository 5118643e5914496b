// SPDX-License-Identifier: MIT
// Decode attention on a GPU, every configuration of decode_forward side by side: one query row per head
// against a K/V cache. Times a graph of many calls, so that launches overlap as they do in a model's step.
//
//   gpu_decode [--batch 1] [--keys 8192] [--heads 32] [--kv-heads 8] [--dim 128] [--fp16] [--tunings 0,3,7]
//
// Without --keys: the shapes that the project keeps figures of. "warm" calls on the same tensors again and
// again; "cold" rotates tensors through more memory than the L2 cache holds. The time is the median over
// replays, of the best and of the worst of several instantiations of the graph, which differ by up to 0.2 us.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/probe.h"
#include "dispatch/plan.h"
#include "dispatch/run.h"
#include "gpu_buffer.h"
#include "kernels/decode_forward/spec.h"
#include "numeric/half.h"

namespace {

using namespace flashmoe;
using bench::Buffer;
using bench::check;

constexpr int kCalls = 50;  // per graph
constexpr int kInstantiations = 4;
constexpr int kReplays = 9;
constexpr std::size_t kColdBytes = std::size_t{160} << 20;

struct Case {
  int64_t batch = 1, keys = 8192, heads = 32, kv_heads = 8, dim = 128;
  DType dtype = DType::bf16;

  ForwardProblem problem() const {
    return {.batch = batch,
            .q_heads = heads,
            .kv_heads = kv_heads,
            .q_rows = 1,
            .kv_rows = keys,
            .head_dim = dim,
            .dtype = dtype,
            .scale = 0.0883883F};
  }
  std::size_t cache_bytes() const {
    return static_cast<std::size_t>(batch * kv_heads * keys * dim * 2);
  }  // K, or V
};

// Tensors of one case: enough sets of K and V to go past the L2 cache.
class Data {
 public:
  explicit Data(const Case& c)
      : case_(c),
        sets_(std::max<std::size_t>(2, kColdBytes / (2 * c.cache_bytes()) + 1)),
        cache_(sets_ * 2 * c.cache_bytes()),
        q_(row_bytes()),
        out_(row_bytes()),
        lse_(static_cast<std::size_t>(c.batch * c.heads) * sizeof(float)) {
    std::vector<uint16_t> some(std::size_t{1} << 22);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (uint16_t& x : some) {
      x = c.dtype == DType::bf16 ? from_float<bf16>(normal(random)).bits
                                 : from_float<fp16>(normal(random)).bits;
    }
    fill(cache_.at(), sets_ * 2 * c.cache_bytes(), some);
    fill(q_.at(), row_bytes(), some);
  }

  ForwardArgs args(std::size_t set, void* stream) const {
    const std::array<int64_t, 4> rows{case_.batch, case_.heads, 1, case_.dim};
    const std::array<int64_t, 4> cache{case_.batch, case_.kv_heads, case_.keys, case_.dim};
    const std::size_t first = set % sets_ * 2 * case_.cache_bytes();
    ForwardArgs args{.q = Tensor::dense(q_.at(), case_.dtype, rows),
                     .k = Tensor::dense(cache_.at(first), case_.dtype, cache),
                     .v = Tensor::dense(cache_.at(first + case_.cache_bytes()), case_.dtype, cache),
                     .out = Tensor::dense(out_.at(), case_.dtype, rows)};
    args.lse = static_cast<float*>(lse_.at());
    args.execution = {.device = Device::cuda, .stream = stream};
    return args;
  }

 private:
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(case_.batch * case_.heads * case_.dim * 2);
  }

  static void fill(void* to, std::size_t bytes, const std::vector<uint16_t>& some) {
    for (std::size_t done = 0; done < bytes; done += some.size() * 2) {
      check(cudaMemcpy(static_cast<std::byte*>(to) + done, some.data(),
                       std::min(bytes - done, some.size() * 2), cudaMemcpyHostToDevice),
            "cudaMemcpy");
    }
  }

  Case case_;
  std::size_t sets_;
  Buffer cache_, q_, out_, lse_;
};

struct Times {
  float best, worst;  // us per call
};

// One graph of kCalls calls, timed.
Times measure(const Data& data, const ForwardProblem& problem, const dispatch::ForwardPlan& plan, bool cold,
              cudaStream_t stream) {
  const Buffer workspace(plan.workspace_bytes);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  for (std::size_t i = 0; i < kCalls; ++i) {
    dispatch::run_forward(plan, problem, data.args(cold ? i : 0, stream),
                          {workspace.at(), plan.workspace_bytes});
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  Times times{1e30F, 0};
  for (int i = 0; i < kInstantiations; ++i) {
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    for (int warm_up = 0; warm_up < 3; ++warm_up)
      check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    std::vector<float> samples;
    for (int replay = 0; replay < kReplays; ++replay) {
      check(cudaEventRecord(begin, stream), "cudaEventRecord");
      check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
      check(cudaEventRecord(end, stream), "cudaEventRecord");
      check(cudaEventSynchronize(end), "cudaEventSynchronize");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
      samples.push_back(ms * 1000 / kCalls);
    }
    std::nth_element(samples.begin(), samples.begin() + kReplays / 2, samples.end());
    times.best = std::min(times.best, samples[kReplays / 2]);
    times.worst = std::max(times.worst, samples[kReplays / 2]);
    cudaGraphExecDestroy(executable);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphDestroy(graph);
  return times;
}

void time_plan(const Case& c, const Data& data, const dispatch::ForwardPlan& plan, const std::string& what,
               cudaStream_t stream) {
  const ForwardProblem problem = c.problem();
  const Times warm = measure(data, problem, plan, false, stream);
  const Times cold = measure(data, problem, plan, true, stream);
  const double gb = 2 * static_cast<double>(c.cache_bytes()) * 1e-9;
  std::printf("  %-52s %3d  %7.2f %7.2f   %7.2f %7.2f   %5.0f\n", what.c_str(), plan.num_splits, warm.best,
              warm.worst, cold.best, cold.worst, gb / (cold.best * 1e-6));
  std::fflush(stdout);
}

void run(const Case& c, const std::vector<int>& tunings, const device::Spec& spec, cudaStream_t stream) {
  const ForwardProblem problem = c.problem();
  const Data data(c);
  std::printf("\nB=%ld Hq=%ld Hkv=%ld Skv=%ld D=%ld %s, %.1f MB of K and V\n", static_cast<long>(c.batch),
              static_cast<long>(c.heads), static_cast<long>(c.kv_heads), static_cast<long>(c.keys),
              static_cast<long>(c.dim), name_of(c.dtype), 2e-6 * static_cast<double>(c.cache_bytes()));
  std::printf("  %-52s %3s  %7s %7s   %7s %7s   %5s\n", "", "splits", "warm us", "worst", "cold us", "worst",
              "GB/s");
  const auto chosen = dispatch::plan_forward(problem, true, spec);
  time_plan(c, data, chosen,
            std::string("chosen: ") + name_of(chosen.kernel) + " " + std::to_string(chosen.tuning), stream);
  time_plan(c, data,
            dispatch::plan_forward(problem, true, spec, {.kernel = dispatch::ForwardKernel::ampere_forward}),
            "ampere_forward", stream);
  for (int tuning : tunings) {
    const kernels::decode::Tuning& t = kernels::decode::kTunings[tuning];
    const int64_t heads = c.batch * c.kv_heads;
    for (int splits = 1; splits <= 16; splits *= 2) {
      if (!kernels::decode::takes(t, c.dim, c.keys, splits) || t.cluster > spec.max_cluster ||
          t.smem_bytes() > spec.smem_per_block) {
        continue;
      }
      if (splits > 1 && heads * t.cluster * splits > 4 * spec.sms) break;
      char what[96];
      std::snprintf(what, sizeof what, "%2d: cluster %d, %d x %3d keys, ring %d, %s", tuning, t.cluster,
                    t.warps, t.block_keys, t.ring, t.once ? "once" : "loop");
      time_plan(
          c, data,
          dispatch::plan_forward(
              problem, true, spec,
              {.kernel = dispatch::ForwardKernel::decode_forward, .num_splits = splits, .tuning = tuning}),
          what, stream);
    }
  }
}

struct Options {
  Case shape;
  bool one_shape = false;
  std::vector<int> tunings;
};

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--fp16") {
      options.shape.dtype = DType::fp16;
      continue;
    }
    if (i + 1 >= count) throw std::runtime_error("no value behind " + word);
    const char* value = words[++i];
    if (word == "--batch")
      options.shape.batch = std::atoll(value);
    else if (word == "--heads")
      options.shape.heads = std::atoll(value);
    else if (word == "--kv-heads")
      options.shape.kv_heads = std::atoll(value);
    else if (word == "--dim")
      options.shape.dim = std::atoll(value);
    else if (word == "--keys") {
      options.shape.keys = std::atoll(value);
      options.one_shape = true;
    } else if (word == "--tunings") {
      for (const char* at = value; at != nullptr; at = std::strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        options.tunings.push_back(std::atoi(at));
      }
    } else {
      throw std::runtime_error("unknown option " + word + "; see the top of flashmoe/benches/gpu_decode.cpp");
    }
  }
  if (options.tunings.empty()) {
    for (int i = 0; i < kernels::decode::kNumTunings; ++i) options.tunings.push_back(i);
  }
  return options;
}

}  // namespace

int main(int count, char** words) {
  try {
    const Options options = parse(count, words);
    const device::Spec spec = device::probe();
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    if (options.one_shape) {
      run(options.shape, options.tunings, spec, stream);
    } else {
      for (const auto& [batch, keys] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1024}, {1, 8192}, {1, 65536}, {32, 1024}, {32, 8192}}) {
        Case c = options.shape;
        c.batch = batch;
        c.keys = keys;
        run(c, options.tunings, spec, stream);
      }
    }
    cudaStreamDestroy(stream);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_decode: %s\n", error.what());
    return 1;
  }
}
