// SPDX-License-Identifier: MIT
// Exact attention: out = softmax(scale * q k^T + mask) v, computed tile by tile, and its gradients.
//
//   flashmoe::ForwardArgs args{.q = q, .k = k, .v = v, .out = out, .mask = flashmoe::Mask::causal};
//   std::vector<std::byte> space(flashmoe::forward_workspace_bytes(args) + flashmoe::kWorkspaceAlignment);
//   flashmoe::attention_forward(args, flashmoe::Workspace::in(space.data(), space.size()));
//
// Every function throws flashmoe::Error on bad arguments, before anything is written. Nothing here allocates
// on the way through attention_forward or attention_backward: the caller owns the workspace. New fields are
// added to the structs behind the existing ones, with a default that keeps today's meaning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "flashmoe/error.h"
#include "flashmoe/export.h"

namespace flashmoe {

enum class DType : int32_t { fp32 = 0, fp16 = 1, bf16 = 2 };

enum class Mask : int32_t {
  none = 0,
  causal = 1,  // the last query sees the last key: query i sees keys j <= i + Skv - Sq (bottom-right)
  causal_top_left = 2,  // the first query sees the first key: query i sees keys j <= i
};

// How far a query row sees from its own position, which is that of the key it ends with under the causal mask
// of the same alignment: Mask::causal_top_left counts positions from the first key on, the others up to the
// last one. A row at position p sees the keys p - left to p + right.
struct Window {
  static constexpr int64_t kUnlimited = INT64_MAX;
  int64_t left = kUnlimited;   // keys before its own
  int64_t right = kUnlimited;  // keys behind it; a causal mask hides them in any case

  bool limits() const { return left != kUnlimited || right != kUnlimited; }
};

// Sequences of different lengths in one call. One side (q, or k and v) is *packed* where its starts are
// given: its tensors are [1, H, total, D], and sequence b is the rows from starts[b] to starts[b + 1].
// Otherwise it is *padded*: its tensors are [sequences, H, S, D], and sequence b is entry b. In either case
// only the first used[b] rows of a sequence count, where that is given. Mask and window count within each
// sequence. Rows that belong to no sequence, or don't count, have outputs and gradients of 0 and an LSE of
// -inf, and nothing in them reaches others. The arrays lie in the memory of the device that computes.
struct Lengths {
  const int32_t* q_starts = nullptr;  // [sequences + 1], never falling, from 0 to total at most
  const int32_t* k_starts = nullptr;
  const int32_t* q_used = nullptr;  // [sequences], from 0 to the rows of the sequence
  const int32_t* k_used = nullptr;
  int64_t sequences = 0;
  int64_t longest_q = 0;  // hints: no result depends on them; 0 = not known
  int64_t longest_k = 0;

  bool given() const {
    return q_starts != nullptr || k_starts != nullptr || q_used != nullptr || k_used != nullptr;
  }
};

// Masks by name, beside mask and window: a key is seen where all of them let it be. A row's position is as
// for Window; rows without a key at their position belong to no document. Beside Lengths B are sequences,
// each with spans of its own, and documents are of all rows of k. The arrays lie on the device that computes.
struct Spans {
  // A document for every key, and so for the row at its position, which sees no other. Neighbours with the
  // same number are one document: a number that comes back later is another one.
  const int32_t* documents = nullptr;  // [B or 1, Skv]
  int64_t documents_stride = 0;        // elements from one batch entry to the next; 0: all have the same
  // So many first keys are seen by the rows before them too, whatever the causal mask, or the right side of
  // the window, hides.
  const int32_t* prefix = nullptr;  // [B]
  // So many first keys are seen by no row.
  const int32_t* left_padding = nullptr;  // [B]
  // Rows see keys of their own chunk: positions n chunk to (n + 1) chunk - 1. 0: there are no chunks.
  int64_t chunk = 0;
  // So many keys at the beginning, of the document or behind the padding, are seen also where the left side
  // of the window, or the chunk, hides them.
  int64_t first_keys = 0;

  bool given() const {
    return documents != nullptr || prefix != nullptr || left_padding != nullptr || chunk != 0 ||
           first_keys != 0;
  }
};

// One value for each query row and key of each head, [B, Hq, Sq, Skv]: what is added to the score, in a type
// of its own; or a byte that hides the key where it is 0. -inf hides too. V is finite where a tensor hides
// it.
enum class PairType : int32_t { fp32 = 0, fp16 = 1, bf16 = 2, boolean = 3 };
struct PairTensor {
  const void* data = nullptr;
  PairType type = PairType::boolean;
  std::array<int64_t, 4> strides{};  // in elements; 0 where all share one
};

// The gradient of a PairTensor that is added, in fp32 whatever its type. Every pair of query row and key adds
// to one element: an element that several pairs share, by strides of 0, is their sum, on a GPU in a fixed
// order where BackwardArgs::deterministic says so. Pairs that nobody sees add 0.
struct PairGradient {
  float* data = nullptr;
  std::array<int64_t, 4> strides{};  // in elements, for [B, Hq, Sq, Skv]; the last one is 0 or 1
};

// How scores change on their way from scale * q k^T to the softmax: first the cap, then the slopes, then what
// a tensor adds, then mask and window hide what they hide. The arrays lie in the memory of the device that
// computes.
struct Scores {
  float softcap = 0;                    // above 0: a score s becomes softcap * tanh(s / softcap)
  const float* alibi_slopes = nullptr;  // [Hq] or [B, Hq]: a key loses slope * its distance from the row's
                                        // own position, which is the one that Window counts from
  int64_t slopes_batch_stride = 0;      // floats from one batch entry, or sequence, to the next; 0: [Hq]
  const float* sinks = nullptr;  // [Hq]: one more score in each row's softmax, of a key without a value. It
                                 // is neither scaled nor capped nor hidden, and the LSE includes it
  PairTensor attn_mask{};        // not beside lengths
};

// Weights of the softmax that training leaves out at random: each with probability p, the others divided by
// 1 - p. Which ones is decided by the seed and by the pair's place (batch entry or sequence, head, row, key)
// alone: the backward pass wants the seed of the forward, every other call one of its own. The LSE is the one
// without dropout.
struct Dropout {
  float p = 0;  // 0 to 1, in steps of 2^-16
  uint64_t seed = 0;
};

enum class Device : int32_t { cpu = 0, cuda = 1 };

// A four-dimensional view [batch, heads, rows, head_dim]. Every size but head_dim may be 0. Strides count
// elements; the last one must be 1, the others are free (zero and negative strides are fine for inputs).
// Inputs are never written through `data`, which may be null where there are no elements.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::fp32;
  std::array<int64_t, 4> sizes{};
  std::array<int64_t, 4> strides{};

  // A view of densely packed memory.
  static Tensor dense(void* data, DType dtype, std::array<int64_t, 4> sizes) {
    return {data, dtype, sizes, {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}};
  }
};

struct Execution {
  Device device = Device::cpu;
  int threads = 0;         // CPU: at most this many threads; 0 = every core this process may use
  void* stream = nullptr;  // CUDA: the cudaStream_t to launch on
  // CUDA: programmatic dependent launch. The kernel may start while the one before it on the stream still
  // runs; it waits for that one's end before it reads or writes memory. Kernels that can't do this start as
  // ever: explain says.
  bool programmatic = false;
  // CPU: once this is not 0 the call ends soon, with ErrorCode::cancelled, and what it writes is in part not
  // written. Another thread, or a signal's handler, may set it at any time. Null: no such flag.
  const int32_t* cancel = nullptr;
};

struct ForwardArgs {
  Tensor q;              // [B, Hq, Sq, D]
  Tensor k;              // [B, Hkv, Skv, D], Hq a multiple of Hkv
  Tensor v;              // [B, Hkv, Skv, D]
  Tensor out;            // [B, Hq, Sq, D], the dtype of q; shares no byte with q, k, v or itself
  float* lse = nullptr;  // [B, Hq, Sq] dense, natural log; not computed when null; as out
  Mask mask = Mask::none;
  std::optional<float> scale{};  // 1/sqrt(D) when not given
  Execution execution{};
  Window window{};    // beside the mask: a key is seen where both let it be
  Lengths lengths{};  // sequences of different lengths
  Spans spans{};
  Scores scores{};
  Dropout dropout{};
};

// The gradients of a scalar with respect to q, k and v, from those with respect to out and lse.
struct BackwardArgs {
  Tensor q, k, v;                // as for attention_forward
  Tensor out;                    // as attention_forward left it
  const float* lse = nullptr;    // the same; never null
  Tensor dout;                   // [B, Hq, Sq, D]: the gradient of out
  const float* dlse = nullptr;   // [B, Hq, Sq] dense: the gradient of lse; null counts as 0
  Tensor dq;                     // [B, Hq, Sq, D]: shares no byte with anything else here, nor do dk and dv
  Tensor dk, dv;                 // [B, Hkv, Skv, D]: sums over the query heads that share a K/V head
  Mask mask = Mask::none;        // as for attention_forward
  std::optional<float> scale{};  // as for attention_forward
  bool deterministic = false;    // the same arguments give the same bits; dk and dv do in any case
  Execution execution{};
  Window window{};            // as for attention_forward
  Lengths lengths{};          // as for attention_forward
  Spans spans{};              // the same
  Scores scores{};            // the same
  float* dsinks = nullptr;    // [Hq]: the gradients of the sinks, over all rows; null: not wanted
  PairGradient dattn_mask{};  // of scores.attn_mask, where that is added; data is null: not wanted
  Dropout dropout{};          // as for attention_forward, with its seed
};

inline constexpr std::size_t kWorkspaceAlignment = 64;

struct Workspace {
  void* data = nullptr;  // aligned to kWorkspaceAlignment, in the memory of the device that computes
  std::size_t bytes = 0;

  // The aligned part of any host buffer.
  static Workspace in(void* buffer, std::size_t bytes) {
    const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(buffer) % kWorkspaceAlignment;
    const std::size_t skip = misalignment == 0 ? 0 : kWorkspaceAlignment - misalignment;
    if (buffer == nullptr || bytes < skip) return {};
    return {static_cast<std::byte*>(buffer) + skip, bytes - skip};
  }
};

// Where a workspace comes from when its size is not known before the call. `allocate` is called at most once,
// by the calling thread, after every check and before anything is written; not at all if no workspace is
// needed. It gives `bytes` bytes as Workspace::data describes them, or null if there are none.
struct WorkspaceSource {
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;
  void* context = nullptr;
};

// Bytes of workspace that attention_forward needs for these arguments. Data pointers are not looked at;
// lengths are read where they lie in host memory, spans are not.
FLASHMOE_API std::size_t forward_workspace_bytes(const ForwardArgs& args);

// Rows that see no key give output 0 and LSE -inf, or the sink where there is one. The same arguments with
// the same `threads` give the same bits; so does a sequence of a call with lengths, whatever else is in it.
FLASHMOE_API void attention_forward(const ForwardArgs& args, Workspace workspace);

// The same, planned once: asking for the size first and then calling plans twice.
FLASHMOE_API void attention_forward_with(const ForwardArgs& args, WorkspaceSource source);

// What attention_forward would do for these arguments, and why, in a few lines for a person.
FLASHMOE_API std::string explain_forward(const ForwardArgs& args);

// Bytes of workspace that attention_backward needs for these arguments, as forward_workspace_bytes.
FLASHMOE_API std::size_t backward_workspace_bytes(const BackwardArgs& args);

// Rows that see no key, and keys that no row sees, have gradient 0.
FLASHMOE_API void attention_backward(const BackwardArgs& args, Workspace workspace);

// The same, planned once.
FLASHMOE_API void attention_backward_with(const BackwardArgs& args, WorkspaceSource source);

// What attention_backward would do for these arguments, and why.
FLASHMOE_API std::string explain_backward(const BackwardArgs& args);

// "0.1.0", and the backends in this build, for example "0.1.0 (cpu: NEON_BF16)".
FLASHMOE_API std::string version();

}  // namespace flashmoe
