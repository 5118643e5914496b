// SPDX-License-Identifier: MIT
#include "support/problem.h"

#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <sstream>

#include "api/check_forward.h"
#include "numeric/ceil_div.h"
#include "numeric/pair_value.h"
#include "support/hidden_keys.h"
#include "support/tensors.h"

namespace flashmoe::test {
static constexpr const char* kLayoutNames[] = {"bhsd", "bshd", "padded", "reversed", "broadcast"};

static std::string in_words(const Window& window) {
  if (!window.limits()) return {};
  const auto side = [](int64_t keys) { return keys == Window::kUnlimited ? "all" : std::to_string(keys); };
  return " window=(" + side(window.left) + ", " + side(window.right) + ")";
}

static std::string in_words(const char* name, const std::vector<int32_t>& lengths) {
  if (lengths.empty()) return {};
  std::string text = std::string(" ") + name + "=";
  for (const int32_t length : lengths) text += (text.back() == '=' ? "" : ",") + std::to_string(length);
  return text;
}

static std::string in_words(const char* name, const std::vector<float>& values) {
  if (values.empty()) return {};
  std::ostringstream text;
  text << " " << name << "=";
  for (const float value : values) text << (&value == values.data() ? "" : ",") << value;
  return text.str();
}

static Scores scores_of(const Shape& s) {
  const auto array = [](const std::vector<float>& v) { return v.empty() ? nullptr : v.data(); };
  return {.softcap = s.softcap,
          .alibi_slopes = array(s.slopes),
          .slopes_batch_stride = static_cast<int64_t>(s.slopes.size()) > s.q_heads ? s.q_heads : 0,
          .sinks = array(s.sinks)};
}

static Lengths lengths_of(const Shape& s) {
  const auto array = [](const std::vector<int32_t>& v) { return v.empty() ? nullptr : v.data(); };
  return {.q_starts = array(s.q_starts),
          .k_starts = array(s.k_starts),
          .q_used = array(s.q_used),
          .k_used = array(s.k_used),
          .sequences = s.batch};
}

static Spans spans_of(const Shape& s) {
  const auto array = [](const std::vector<int32_t>& v) { return v.empty() ? nullptr : v.data(); };
  const bool shared = static_cast<int64_t>(s.documents.size()) == s.kv_rows;
  return {.documents = array(s.documents),
          .documents_stride = shared ? 0 : s.kv_rows,
          .prefix = array(s.prefix),
          .left_padding = array(s.left_padding),
          .chunk = s.chunk,
          .first_keys = s.first_keys};
}

std::string describe(const Shape& s) {
  std::ostringstream text;
  text << "B=" << s.batch << " Hq=" << s.q_heads << " Hkv=" << s.kv_heads << " Sq=" << s.q_rows
       << " Skv=" << s.kv_rows << " D=" << s.head_dim << " " << name_of(s.dtype)
       << " mask=" << name_of(s.mask) << in_words(s.window)
       << " layout=" << kLayoutNames[static_cast<int>(s.layout)] << " spread=" << s.spread;
  if (s.scale) text << " scale=" << *s.scale;
  text << " threads=" << s.threads << " seed=" << s.seed << in_words("q_starts", s.q_starts)
       << in_words("k_starts", s.k_starts) << in_words("q_used", s.q_used) << in_words("k_used", s.k_used)
       << in_words("documents", s.documents) << in_words("prefix", s.prefix)
       << in_words("left_padding", s.left_padding);
  if (s.chunk > 0) text << " chunk=" << s.chunk;
  if (s.first_keys > 0) text << " first_keys=" << s.first_keys;
  if (s.softcap > 0) text << " softcap=" << s.softcap;
  text << in_words("slopes", s.slopes) << in_words("sinks", s.sinks);
  if (s.pairs) {
    text << " pairs=" << static_cast<int>(*s.pairs) << " shared=";
    for (const bool shared : s.pairs_shared) text << (shared ? 1 : 0);
    text << " step=" << s.pairs_step << (s.pairs_aligned ? " aligned" : "")
         << (s.pairs_shown ? " by rule" : "");
  }
  if (s.dropout.p > 0) text << " dropout=" << s.dropout.p << " of seed " << s.dropout.seed;
  if (s.hidden) text << " hidden=" << *s.hidden;
  return text.str();
}

static void put_pair(PairType type, std::byte* at, bool shown, float value) {
  const auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  if (!shown) value = -std::numeric_limits<float>::infinity();
  if (type == PairType::boolean) put(static_cast<unsigned char>(shown ? 1 : 0));
  if (type == PairType::fp32) put(value);
  if (type == PairType::fp16) put(from_float<fp16>(value));
  if (type == PairType::bf16) put(from_float<bf16>(value));
}

// Uses a separate seed, so that the other tensors are equal with and without it. Gaps between rows are NaN.
static PairTensor random_pairs(const Shape& s, const ForwardArgs& args, std::vector<std::byte>& memory) {
  const int64_t sizes[] = {args.q.sizes[0], args.q.sizes[1], args.q.sizes[2], args.k.sizes[2]};
  PairTensor tensor{.type = *s.pairs};
  int64_t shared_sizes[4] = {1, 1, 1, 1};
  int64_t count = s.pairs_step;
  for (int i = 3; i >= 0; --i) {
    if (s.pairs_shared[static_cast<std::size_t>(i)]) continue;
    tensor.strides[static_cast<std::size_t>(i)] = count;
    shared_sizes[i] = sizes[i];
    count *= sizes[i];
    if (i == 3 && s.pairs_aligned) count = ceil_div(count, int64_t{8}) * 8;
  }
  const int64_t bytes = element_bytes(tensor.type);
  memory.assign(static_cast<std::size_t>(count * bytes), std::byte{0xFF});
  std::mt19937_64 random(s.seed + 2'000'000);
  std::normal_distribution<float> normal;
  for (int64_t b = 0; b < shared_sizes[0]; ++b) {
    for (int64_t h = 0; h < shared_sizes[1]; ++h) {
      for (int64_t i = 0; i < shared_sizes[2]; ++i) {
        for (int64_t j = 0; j < shared_sizes[3]; ++j) {
          const bool chance = random() % 3 != 0;
          const bool shown = s.pairs_shown ? s.pairs_shown(b, h, i, j) : chance;
          const int64_t at =
              b * tensor.strides[0] + h * tensor.strides[1] + i * tensor.strides[2] + j * tensor.strides[3];
          const float value = shown ? s.pairs_spread * normal(random) : 0.0F;
          put_pair(tensor.type, memory.data() + at * bytes, shown, value);
        }
      }
    }
  }
  tensor.data = memory.data();
  return tensor;
}

Problem::Problem(const Shape& shape) : shape_(shape) {
  const int64_t q_batch = shape.q_starts.empty() ? shape.batch : 1;
  const int64_t kv_batch = shape.k_starts.empty() ? shape.batch : 1;
  args.q = allocate(q_, {q_batch, shape.q_heads, shape.q_rows, shape.head_dim}, shape, Role::q);
  args.k = allocate(k_, {kv_batch, shape.kv_heads, shape.kv_rows, shape.head_dim}, shape, Role::kv);
  args.v = allocate(v_, {kv_batch, shape.kv_heads, shape.kv_rows, shape.head_dim}, shape, Role::kv);
  args.out = allocate(out_, args.q.sizes, shape, Role::out);
  lse_.assign(static_cast<std::size_t>(q_batch * shape.q_heads * shape.q_rows),
              std::numeric_limits<float>::quiet_NaN());
  args.lse = lse_.data();
  args.mask = shape.mask;
  args.window = shape.window;
  args.lengths = lengths_of(shape_);
  args.spans = spans_of(shape_);
  args.scores = scores_of(shape_);
  if (shape.pairs) args.scores.attn_mask = random_pairs(shape, args, pairs_);
  args.dropout = shape.dropout;
  args.scale = shape.scale;
  args.execution.threads = shape.threads;
  std::mt19937_64 random(shape.seed);
  fill_normal(args.q, shape.spread, random);
  fill_normal(args.k, shape.spread, random);
  fill_normal(args.v, 1.0F, random);
  problem = check_shapes(args);
  if (shape.hidden) fill_hidden_keys(problem, args, *shape.hidden);
}

void Problem::run() {
  const std::size_t bytes = forward_workspace_bytes(args);
  // A new block of exactly this size, so that sanitizers report the first byte past its end.
  const auto free = [](void* p) { ::operator delete (p, std::align_val_t{kWorkspaceAlignment}); };
  const std::unique_ptr<void, decltype(free)> space(
      ::operator new (bytes, std::align_val_t{kWorkspaceAlignment}), free);
  std::memset(space.get(), 0xFF, bytes);  // NaN patterns, since kernels must not rely on zeros
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

reference::ForwardResult Problem::oracle() const {
  return reference::attention_forward(check_shapes(args), args);
}

std::string Problem::disagreement() const { return disagreement(oracle()); }

std::string Problem::disagreement(const reference::ForwardResult& expected) const {
  if (args.out.data == out_.data()) {
    if (const std::string stray = stray_write("out", args.out, out_); !stray.empty()) return stray;
  }
  // args may have been changed since construction
  const ForwardProblem now = check_shapes(args);
  std::ostringstream text;
  std::size_t bad = 0;
  std::size_t i = 0;
  std::size_t row = 0;
  for (int64_t b = 0; b < args.out.sizes[0]; ++b) {
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
        const double bound = reference::lse_bound(expected, row);
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
