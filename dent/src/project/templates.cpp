// SPDX-License-Identifier: MIT
#include "project/templates.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dent {
namespace {

constexpr const char* kAttentionManifest = R"~(version = 1
name = "{name}"

[kernel]
sources = ["kernel.{ext}"]
entry = "void attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D{stream_type})"
{launch}
[baseline.pytorch]              # the first baseline that can run here is used
python = "baseline:attention"

[baseline.naive]
sources = ["naive.{ext}"]
entry = "void naive_attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D{stream_type})"

[operator]
kind = "attention.forward"
dtype = "fp32"

[[shapes]]                      # smallest first: a wrong kernel shows on the tiny one already
name = "tiny"
S = 32

[[shapes]]
name = "medium"
S = 128

[[shapes]]
name = "multi-head"
H = 8
S = 128
)~";

constexpr const char* kAttentionCpp =
    R"~(// out = softmax(q k^T / sqrt(D)) v, one row at a time. Make it faster.
#include <cmath>
#include <vector>

void {function}(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {{
  const float scale = 1.0F / std::sqrt(static_cast<float>(D));
  std::vector<float> weight(S);
  for (int head = 0; head < B * H; ++head) {{
    const float* keys = k + static_cast<long>(head) * S * D;
    const float* values = v + static_cast<long>(head) * S * D;
    for (int row = 0; row < S; ++row) {{
      const float* query = q + (static_cast<long>(head) * S + row) * D;
      float* result = out + (static_cast<long>(head) * S + row) * D;
      float largest = -INFINITY;
      for (int j = 0; j < S; ++j) {{
        float dot = 0;
        for (int d = 0; d < D; ++d) dot += query[d] * keys[j * D + d];
        weight[j] = dot * scale;
        largest = std::fmax(largest, weight[j]);
      }}
      float sum = 0;
      for (int j = 0; j < S; ++j) sum += weight[j] = std::exp(weight[j] - largest);
      for (int d = 0; d < D; ++d) result[d] = 0;
      for (int j = 0; j < S; ++j) {{
        for (int d = 0; d < D; ++d) result[d] += weight[j] / sum * values[j * D + d];
      }}
    }}
  }}
}}
)~";

constexpr const char* kAttentionCuda =
    R"~(// out = softmax(q k^T / sqrt(D)) v: one thread per query row, softmax online. Make it faster. D up to 128.
#include <cuda_runtime.h>

static __global__ void attend(const float* q, const float* k, const float* v, float* out, int S, int D) {{
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= S) return;
  const long head = static_cast<long>(blockIdx.y) * S * D;
  const float scale = rsqrtf(static_cast<float>(D));
  float accumulated[128];
  for (int d = 0; d < D; ++d) accumulated[d] = 0;
  float largest = -INFINITY, sum = 0;
  for (int j = 0; j < S; ++j) {{
    float dot = 0;
    for (int d = 0; d < D; ++d) dot += q[head + row * D + d] * k[head + j * D + d];
    const float logit = dot * scale;
    const float now = fmaxf(largest, logit);
    const float keep = expf(largest - now), weight = expf(logit - now);
    sum = sum * keep + weight;
    for (int d = 0; d < D; ++d) accumulated[d] = accumulated[d] * keep + weight * v[head + j * D + d];
    largest = now;
  }}
  for (int d = 0; d < D; ++d) out[head + row * D + d] = accumulated[d] / sum;
}}

void {function}(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D, cudaStream_t stream) {{
  attend<<<dim3((S + 63) / 64, B * H), 64, 0, stream>>>(q, k, v, out, S, D);
}}
)~";

constexpr const char* kBackwardManifest = R"~(version = 1
name = "{name}"

[kernel]
sources = ["kernel.{ext}"]
entry = "void attention_backward(const float* q, const float* k, const float* v, const float* out, const float* lse, const float* dout, float* dq, float* dk, float* dv, int B, int H, int S, int D{stream_type})"
{launch}
[baseline.pytorch]              # the first baseline that can run here is used
python = "baseline:attention_backward"

[baseline.naive]
sources = ["naive.{ext}"]
entry = "void naive_attention_backward(const float* q, const float* k, const float* v, const float* out, const float* lse, const float* dout, float* dq, float* dk, float* dv, int B, int H, int S, int D{stream_type})"

[operator]                      # out and lse are drawn like all inputs: a kernel takes them as they are given
kind = "attention.backward"
dtype = "fp32"

[[shapes]]                      # smallest first: a wrong kernel shows on the tiny one already
name = "tiny"
S = 32

[[shapes]]
name = "medium"
S = 128

[[shapes]]
name = "multi-head"
H = 8
S = 128
)~";

constexpr const char* kBackwardCpp =
    R"~(// With P = exp(q k^T / sqrt(D) - lse) and dS = P (dout v^T - dout . out): dv = P^T dout, dq = dS k / sqrt(D),
// dk = dS^T q / sqrt(D). One pair of a query and a key at a time. Make it faster.
#include <algorithm>
#include <cmath>

void {function}(const float* q, const float* k, const float* v, const float* out, const float* lse, const float* dout, float* dq,
                float* dk, float* dv, int B, int H, int S, int D) {{
  const float scale = 1.0F / std::sqrt(static_cast<float>(D));
  const long elements = static_cast<long>(B) * H * S * D;
  for (float* gradient : {{dq, dk, dv}}) std::fill(gradient, gradient + elements, 0.0F);
  const auto dot = [D](const float* x, const float* y) {{
    float sum = 0;
    for (int d = 0; d < D; ++d) sum += x[d] * y[d];
    return sum;
  }};
  for (long head = 0; head < static_cast<long>(B) * H; ++head) {{
    for (long i = head * S; i < (head + 1) * S; ++i) {{
      const float delta = dot(dout + i * D, out + i * D);
      for (long j = head * S; j < (head + 1) * S; ++j) {{
        const float p = std::exp(dot(q + i * D, k + j * D) * scale - lse[i]);
        const float ds = p * (dot(dout + i * D, v + j * D) - delta) * scale;
        for (int d = 0; d < D; ++d) {{
          dv[j * D + d] += p * dout[i * D + d];
          dq[i * D + d] += ds * k[j * D + d];
          dk[j * D + d] += ds * q[i * D + d];
        }}
      }}
    }}
  }}
}}
)~";

constexpr const char* kBackwardCuda =
    R"~(// With P = exp(q k^T / sqrt(D) - lse) and dS = P (dout v^T - dout . out): dv = P^T dout, dq = dS k / sqrt(D),
// dk = dS^T q / sqrt(D). One thread per row of dq, and one per row of dk and dv. Make it faster. D up to 128.
#include <cuda_runtime.h>

struct Inputs {{
  const float *q, *k, *v, *out, *lse, *dout;
  int S, D;
}};

static __device__ float dot(const float* x, const float* y, int D) {{
  float sum = 0;
  for (int d = 0; d < D; ++d) sum += x[d] * y[d];
  return sum;
}}

// P and dS of query i and key j, both counted over all heads.
static __device__ void pair(const Inputs& in, long i, long j, float& p, float& ds) {{
  const int D = in.D;
  const float scale = rsqrtf(static_cast<float>(D));
  p = expf(dot(in.q + i * D, in.k + j * D, D) * scale - in.lse[i]);
  ds = p * (dot(in.dout + i * D, in.v + j * D, D) - dot(in.dout + i * D, in.out + i * D, D)) * scale;
}}

static __global__ void queries(Inputs in, float* dq) {{
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= in.S) return;
  const long first = static_cast<long>(blockIdx.y) * in.S, i = first + row;
  float sum[128];
  for (int d = 0; d < in.D; ++d) sum[d] = 0;
  for (long j = first; j < first + in.S; ++j) {{
    float p, ds;
    pair(in, i, j, p, ds);
    for (int d = 0; d < in.D; ++d) sum[d] += ds * in.k[j * in.D + d];
  }}
  for (int d = 0; d < in.D; ++d) dq[i * in.D + d] = sum[d];
}}

static __global__ void keys(Inputs in, float* dk, float* dv) {{
  const int key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key >= in.S) return;
  const long first = static_cast<long>(blockIdx.y) * in.S, j = first + key;
  float of_k[128], of_v[128];
  for (int d = 0; d < in.D; ++d) of_k[d] = of_v[d] = 0;
  for (long i = first; i < first + in.S; ++i) {{
    float p, ds;
    pair(in, i, j, p, ds);
    for (int d = 0; d < in.D; ++d) {{
      of_k[d] += ds * in.q[i * in.D + d];
      of_v[d] += p * in.dout[i * in.D + d];
    }}
  }}
  for (int d = 0; d < in.D; ++d) {{
    dk[j * in.D + d] = of_k[d];
    dv[j * in.D + d] = of_v[d];
  }}
}}

void {function}(const float* q, const float* k, const float* v, const float* out, const float* lse, const float* dout, float* dq,
                float* dk, float* dv, int B, int H, int S, int D, cudaStream_t stream) {{
  const Inputs in{{q, k, v, out, lse, dout, S, D}};
  const dim3 grid((S + 63) / 64, B * H);
  queries<<<grid, 64, 0, stream>>>(in, dq);
  keys<<<grid, 64, 0, stream>>>(in, dk, dv);
}}
)~";

constexpr const char* kBackwardBaseline =
    R"~("""The gradients of attention in PyTorch's own words, to compare with."""

import torch

torch.set_grad_enabled(False)


def attention_backward(q, k, v, out, lse, dout):
    scale = q.shape[-1] ** -0.5
    p = torch.exp(q @ k.mT * scale - lse[..., None])
    ds = p * (dout @ v.mT - (dout * out).sum(-1, keepdim=True)) * scale
    return ds @ k, ds.mT @ q, p.mT @ dout
)~";

constexpr const char* kAttentionBaseline = R"~("""PyTorch's attention, to compare with."""

import torch


def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
)~";

constexpr const char* kCustomManifest = R"~(version = 1
name = "{name}"

[kernel]
sources = ["kernel.{ext}"]
entry = "void softmax(const float* x, float* y, int rows, int columns{stream_type})"
{launch}
[baseline.framework]
python = "reference:softmax"

[operator]
name = "softmax"
inputs.x = {{ dtype = "fp32", shape = ["rows", "columns"] }}
outputs.y = {{ dtype = "fp32", shape = ["rows", "columns"] }}
reference = {{ python = "reference:softmax" }}
tolerance = {{ absolute = 1e-7, relative = 1e-5 }}
flops = "5*rows*columns"

[[shapes]]
name = "tiny"
rows = 4
columns = 32

[[shapes]]
name = "wide"
rows = 64
columns = 4096
)~";

constexpr const char* kCustomCpp = R"~(// y = softmax of each row of x. Make it faster.
#include <cmath>

void softmax(const float* x, float* y, int rows, int columns) {{
  for (int r = 0; r < rows; ++r, x += columns, y += columns) {{
    float largest = -INFINITY, sum = 0;
    for (int c = 0; c < columns; ++c) largest = std::fmax(largest, x[c]);
    for (int c = 0; c < columns; ++c) sum += y[c] = std::exp(x[c] - largest);
    for (int c = 0; c < columns; ++c) y[c] /= sum;
  }}
}}
)~";

constexpr const char* kCustomCuda = R"~(// y = softmax of each row of x: one block per row. Make it faster.
#include <cuda_runtime.h>

static __device__ float all_of(float value, bool largest) {{  // over the 32 threads of a block
  for (int step = 16; step > 0; step /= 2) {{
    const float other = __shfl_xor_sync(0xFFFFFFFFU, value, step);
    value = largest ? fmaxf(value, other) : value + other;
  }}
  return value;
}}

static __global__ void softmax_rows(const float* x, float* y, int columns) {{
  x += static_cast<long>(blockIdx.x) * columns;
  y += static_cast<long>(blockIdx.x) * columns;
  float largest = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, x[c]);
  largest = all_of(largest, true);
  for (int c = threadIdx.x; c < columns; c += 32) sum += expf(x[c] - largest);
  sum = all_of(sum, false);
  for (int c = threadIdx.x; c < columns; c += 32) y[c] = expf(x[c] - largest) / sum;
}}

void softmax(const float* x, float* y, int rows, int columns, cudaStream_t stream) {{
  softmax_rows<<<rows, 32, 0, stream>>>(x, y, columns);
}}
)~";

constexpr const char* kCustomReference =
    R"~("""Says what is right (called with float64) and serves as the baseline (called with the kernel's own type)."""

DENT_FRAMEWORK = "{framework}"


def softmax(x):
    {body}
)~";

constexpr const char* kTritonManifest = R"~(version = 1
name = "{name}"

[kernel]
python = "kernel:softmax"
device = "cuda"                 # "cpu": by Triton's interpreter, slow: for dent check without a GPU

[baseline.torch]
python = "reference:softmax"

[operator]
name = "softmax"
inputs.x = {{ dtype = "fp32", shape = ["rows", "columns"] }}
outputs.y = {{ dtype = "fp32", shape = ["rows", "columns"] }}
reference = {{ python = "reference:softmax" }}
tolerance = {{ absolute = 1e-7, relative = 1e-5 }}
flops = "5*rows*columns"

[[shapes]]                      # smallest first: a wrong kernel shows on the tiny one already
name = "tiny"
rows = 3
columns = 37
weight = 0                      # checked, not timed

[[shapes]]
name = "wide"
rows = 4096
columns = 4096
)~";

constexpr const char* kTritonKernel =
    R"~("""y = softmax of each row of x: one program for a row. Make it faster."""

import triton
import triton.language as tl


@triton.jit
def softmax_rows(x, y, columns, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, TILE)
    inside = column < columns
    values = tl.load(x + row + column, mask=inside, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row + column, weights / tl.sum(weights, axis=0), mask=inside)


def softmax(x, y, rows, columns):  # y is an output: dent gives it to be written. Without it, return the result
    softmax_rows[(rows,)](x, y, columns, TILE=triton.next_power_of_2(columns))
)~";

constexpr const char* kTritonReference =
    R"~("""Says what is right (called with float64) and serves as the baseline (called with the kernel's own type)."""

import torch


def softmax(x):
    return torch.softmax(x, dim=-1)
)~";

// Between the quotes of a string in TOML.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\')
      safe += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      safe += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      safe += c;
  }
  return safe;
}

}  // namespace

std::vector<TemplateFile> project_template(const std::string& kind, const std::string& wanted_language,
                                           const std::string& project) {
  const std::string name = escaped(project);
  if (kind == "triton") {
    if (!wanted_language.empty())
      throw Error(ErrorCode::invalid, "language is \"" + wanted_language + "\"; triton is written in Python",
                  "leave it out: dent init triton");
    return {{"dent.toml", fmt::format(fmt::runtime(kTritonManifest), fmt::arg("name", name))},
            {"kernel.py", kTritonKernel},
            {"reference.py", kTritonReference}};
  }
  if (kind != "attention" && kind != "attention-backward" && kind != "custom") {
    throw Error(ErrorCode::invalid, "no template is called \"" + kind +
                                        "\"; there are attention, attention-backward, custom, triton");
  }
  const std::string language = wanted_language.empty() ? "cpp" : wanted_language;
  if (language != "cpp" && language != "cuda") {
    throw Error(ErrorCode::invalid, "language is \"" + language + "\"; accepted are cpp, cuda");
  }
  const bool cuda = language == "cuda";
  const std::string ext = cuda ? "cu" : "cpp";
  // How the CUDA kernels of these templates are launched: the build gate says how much of a GPU will work.
  const std::string launch =
      !cuda ? ""
            : "\n[kernel.launch]                 # change it with the kernel: dent warns before a GPU stands "
              "idle\n" +
                  std::string(kind == "custom" ? "grid = \"rows\"\nblock = \"32\"\n"
                                               : "grid = \"ceil(S/64), B*H\"\nblock = \"64\"\n");
  const auto manifest = [&](const char* text) {
    return fmt::format(fmt::runtime(text), fmt::arg("name", name), fmt::arg("ext", ext),
                       fmt::arg("launch", launch),
                       fmt::arg("stream_type", cuda ? ", cudaStream_t stream" : ""));
  };
  const auto source = [&](const char* text, const char* function) {
    return fmt::format(fmt::runtime(text), fmt::arg("function", function));
  };
  if (kind == "attention") {
    const char* kernel = cuda ? kAttentionCuda : kAttentionCpp;
    return {{"dent.toml", manifest(kAttentionManifest)},
            {"kernel." + ext, source(kernel, "attention")},
            {"naive." + ext, source(kernel, "naive_attention")},
            {"baseline.py", kAttentionBaseline}};
  }
  if (kind == "attention-backward") {
    const char* kernel = cuda ? kBackwardCuda : kBackwardCpp;
    return {{"dent.toml", manifest(kBackwardManifest)},
            {"kernel." + ext, source(kernel, "attention_backward")},
            {"naive." + ext, source(kernel, "naive_attention_backward")},
            {"baseline.py", kBackwardBaseline}};
  }
  const std::string body = cuda ? "import torch\n\n    return torch.softmax(x, dim=-1)"
                                : "import numpy\n\n    weights = numpy.exp(x - x.max(axis=-1, "
                                  "keepdims=True))\n    return weights / weights.sum(axis=-1, keepdims=True)";
  return {
      {"dent.toml", manifest(kCustomManifest)},
      {"kernel." + ext, source(cuda ? kCustomCuda : kCustomCpp, "")},
      {"reference.py", fmt::format(fmt::runtime(kCustomReference),
                                   fmt::arg("framework", cuda ? "torch" : "numpy"), fmt::arg("body", body))}};
}

}  // namespace dent
