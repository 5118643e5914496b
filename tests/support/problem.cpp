// SPDX-License-Identifier: MIT
#include "support/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <sstream>

#include "api/check_forward.h"
#include "numeric/half.h"

namespace flashmoe::test {
namespace {

struct View {
  std::array<int64_t, 4> strides;
  int64_t elements;   // of memory
  int64_t first = 0;  // where element [0, 0, 0, 0] lies
};

enum class Role { q, kv, out };

View view_of(std::array<int64_t, 4> sizes, Layout layout, Role role) {
  const auto [b, h, s, d] = sizes;
  const View dense{{h * s * d, s * d, d, 1}, b * h * s * d};
  switch (layout) {
    case Layout::bhsd:
      return dense;
    case Layout::bshd:
      return {{s * h * d, d, h * d, 1}, b * h * s * d};
    case Layout::padded: {
      const int64_t row = d + 3;
      const int64_t head = s * row + 5;
      const int64_t batch = h * head + 7;
      return {{batch, head, row, 1}, b * batch};
    }
    case Layout::reversed:
      if (role == Role::out) return dense;
      return {{-h * s * d, -s * d, -d, 1}, dense.elements, dense.elements - d};
    case Layout::broadcast:
      if (role == Role::out) return dense;
      if (role == Role::kv) return {{0, 0, d, 1}, s * d};
      return {{0, s * d, d, 1}, h * s * d};
  }
  return {};
}

void store(const Tensor& t, int64_t at, float value) {
  switch (t.dtype) {
    case DType::fp32:
      static_cast<float*>(t.data)[at] = value;
      return;
    case DType::fp16:
      static_cast<fp16*>(t.data)[at] = to_fp16(value);
      return;
    case DType::bf16:
      static_cast<bf16*>(t.data)[at] = to_bf16(value);
      return;
  }
}

float load(const Tensor& t, int64_t at) {
  switch (t.dtype) {
    case DType::fp32:
      return static_cast<const float*>(t.data)[at];
    case DType::fp16:
      return to_float(static_cast<const fp16*>(t.data)[at]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(t.data)[at]);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

int64_t offset(const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t d) {
  return b * t.strides[0] + h * t.strides[1] + s * t.strides[2] + d;
}

Tensor allocate(std::vector<std::byte>& memory, std::array<int64_t, 4> sizes, const Shape& shape, Role role) {
  const View view = view_of(sizes, shape.layout, role);
  memory.resize(static_cast<std::size_t>(view.elements * element_bytes(shape.dtype)));
  Tensor tensor{memory.data(), shape.dtype, sizes, view.strides};
  // Gaps between rows hold NaN too: a kernel that reads them shows it.
  for (int64_t i = 0; i < view.elements; ++i) store(tensor, i, std::numeric_limits<float>::quiet_NaN());
  tensor.data = memory.data() + view.first * element_bytes(shape.dtype);
  return tensor;
}

void fill_normal(const Tensor& t, float spread, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.0F, spread);
  for (int64_t b = 0; b < t.sizes[0]; ++b)
    for (int64_t h = 0; h < t.sizes[1]; ++h)
      for (int64_t s = 0; s < t.sizes[2]; ++s)
        for (int64_t d = 0; d < t.sizes[3]; ++d) store(t, offset(t, b, h, s, d), normal(random));
}

// Written so that NaN is a disagreement unless both are NaN; infinities must be equal.
bool agrees(double actual, double expected, double bound) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= bound;
}

}  // namespace

static constexpr const char* kLayoutNames[] = {"bhsd", "bshd", "padded", "reversed", "broadcast"};

std::string describe(const Shape& s) {
  std::ostringstream text;
  text << "B=" << s.batch << " Hq=" << s.q_heads << " Hkv=" << s.kv_heads << " Sq=" << s.q_rows
       << " Skv=" << s.kv_rows << " D=" << s.head_dim << " " << name_of(s.dtype)
       << " mask=" << name_of(s.mask) << " layout=" << kLayoutNames[static_cast<int>(s.layout)]
       << " spread=" << s.spread;
  if (s.scale) text << " scale=" << *s.scale;
  text << " threads=" << s.threads << " seed=" << s.seed;
  return text.str();
}

Problem::Problem(const Shape& shape) : shape_(shape) {
  args.q = allocate(q_, {shape.batch, shape.q_heads, shape.q_rows, shape.head_dim}, shape, Role::q);
  args.k = allocate(k_, {shape.batch, shape.kv_heads, shape.kv_rows, shape.head_dim}, shape, Role::kv);
  args.v = allocate(v_, {shape.batch, shape.kv_heads, shape.kv_rows, shape.head_dim}, shape, Role::kv);
  args.out = allocate(out_, args.q.sizes, shape, Role::out);
  lse_.assign(static_cast<std::size_t>(shape.batch * shape.q_heads * shape.q_rows),
              std::numeric_limits<float>::quiet_NaN());
  args.lse = lse_.data();
  args.mask = shape.mask;
  args.scale = shape.scale;
  args.execution.threads = shape.threads;
  std::mt19937_64 random(shape.seed);
  fill_normal(args.q, shape.spread, random);
  fill_normal(args.k, shape.spread, random);
  fill_normal(args.v, 1.0F, random);
  problem = check_shapes(args);
}

void Problem::run() {
  const std::size_t bytes = forward_workspace_bytes(args);
  // A fresh block of exactly this size: sanitizers see the first byte past its end.
  const auto free = [](void* p) { ::operator delete (p, std::align_val_t{kWorkspaceAlignment}); };
  const std::unique_ptr<void, decltype(free)> space(
      ::operator new (bytes, std::align_val_t{kWorkspaceAlignment}), free);
  std::memset(space.get(), 0xFF, bytes);  // NaN patterns: nothing may rely on zeros
  attention_forward(args, {space.get(), bytes});
}

float Problem::out(int64_t b, int64_t h, int64_t s, int64_t d) const {
  return load(args.out, offset(args.out, b, h, s, d));
}

float Problem::lse(int64_t b, int64_t h, int64_t s) const {
  return lse_[static_cast<std::size_t>((b * shape_.q_heads + h) * shape_.q_rows + s)];
}

float Problem::get(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d) {
  return load(tensor, offset(tensor, b, h, s, d));
}

void Problem::set(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d, float value) {
  store(tensor, offset(tensor, b, h, s, d), value);
}

void Problem::set_row(const Tensor& tensor, int64_t b, int64_t h, int64_t s, float value) {
  for (int64_t d = 0; d < tensor.sizes[3]; ++d) set(tensor, b, h, s, d, value);
}

std::string Problem::stray_write() const {
  const auto bytes = static_cast<std::size_t>(element_bytes(args.out.dtype));
  std::vector<std::byte> gaps = out_;
  Tensor copy = args.out;
  copy.data = gaps.data() + (static_cast<const std::byte*>(args.out.data) - out_.data());
  for (int64_t b = 0; b < shape_.batch; ++b)
    for (int64_t h = 0; h < shape_.q_heads; ++h)
      for (int64_t s = 0; s < shape_.q_rows; ++s)
        set_row(copy, b, h, s, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::byte> poison(out_.size());
  copy.data = poison.data();
  for (std::size_t i = 0; i < poison.size() / bytes; ++i) {
    store(copy, static_cast<int64_t>(i), std::numeric_limits<float>::quiet_NaN());
  }
  const auto [changed, _] = std::mismatch(gaps.begin(), gaps.end(), poison.begin());
  if (changed == gaps.end()) return "";
  return "element " + std::to_string(static_cast<std::size_t>(changed - gaps.begin()) / bytes) +
         " of out's memory lies between its rows and was written";
}

reference::ForwardResult Problem::oracle() const {
  return reference::attention_forward(check_shapes(args), args);
}

std::string Problem::disagreement() const { return disagreement(oracle()); }

std::string Problem::disagreement(const reference::ForwardResult& expected) const {
  if (args.out.data == out_.data()) {
    if (const std::string stray = stray_write(); !stray.empty()) return stray;
  }
  // args may have been edited since construction.
  const ForwardProblem now = check_shapes(args);
  std::ostringstream text;
  std::size_t bad = 0;
  std::size_t i = 0;
  std::size_t row = 0;
  for (int64_t b = 0; b < shape_.batch; ++b) {
    for (int64_t h = 0; h < shape_.q_heads; ++h) {
      for (int64_t s = 0; s < shape_.q_rows; ++s, ++row) {
        for (int64_t d = 0; d < shape_.head_dim; ++d, ++i) {
          const double bound = reference::output_bound(now, expected, i);
          if (agrees(out(b, h, s, d), expected.out[i], bound)) continue;
          if (bad++ == 0) {
            text << "out[" << b << ", " << h << ", " << s << ", " << d << "] is " << out(b, h, s, d)
                 << ", expected " << expected.out[i] << " within " << bound;
          }
        }
        if (args.lse == nullptr) continue;
        const double bound = reference::lse_bound(now, expected, row);
        if (agrees(lse(b, h, s), expected.lse[row], bound)) continue;
        if (bad++ == 0) {
          text << "lse[" << b << ", " << h << ", " << s << "] is " << lse(b, h, s) << ", expected "
               << expected.lse[row] << " within " << bound;
        }
      }
    }
  }
  if (bad == 0) return "";
  return std::to_string(bad) + " wrong values; the first: " + text.str();
}

std::vector<std::byte> Problem::output_bytes() const {
  std::vector<std::byte> bytes = out_;
  const auto* lse = reinterpret_cast<const std::byte*>(lse_.data());
  bytes.insert(bytes.end(), lse, lse + lse_.size() * sizeof(float));
  return bytes;
}

}  // namespace flashmoe::test
