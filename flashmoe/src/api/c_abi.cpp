// SPDX-License-Identifier: MIT
// The C ABI: the same calls with exceptions turned into a status and a message. Nothing throws across it.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "flashmoe/attention.h"
#include "flashmoe/flashmoe.h"

namespace {

thread_local std::string last_error;

// The first release of each struct: what every caller's struct_size must cover.
template <class Args>
constexpr std::size_t kFirstSize = 0;
template <>
constexpr std::size_t kFirstSize<flashmoe_forward_args> = offsetof(flashmoe_forward_args,
                                                                   programmatic_launch) +
                                                          sizeof(int32_t);
template <>
constexpr std::size_t kFirstSize<flashmoe_backward_args> = offsetof(flashmoe_backward_args, deterministic) +
                                                           sizeof(int32_t);

// No release will ever need more: a larger struct_size was not set at all, and must not be read that far.
constexpr std::size_t kLargestArgsSize = 4096;

void require_zero(int32_t reserved, const char* owner) {
  if (reserved == 0) return;
  throw flashmoe::Error(
      flashmoe::ErrorCode::unsupported,
      std::string("flashmoe: ") + owner + ".reserved is " + std::to_string(reserved) + "; it must be 0",
      "set the whole struct to zero before filling it in");
}

flashmoe::Tensor from_c(const flashmoe_tensor& t, const char* owner) {
  require_zero(t.reserved, owner);
  flashmoe::Tensor tensor{.data = t.data, .dtype = static_cast<flashmoe::DType>(t.dtype)};
  std::copy_n(t.sizes, 4, tensor.sizes.begin());
  std::copy_n(t.strides, 4, tensor.strides.begin());
  return tensor;
}

// The caller's struct as this library knows it: what an older caller does not know stays zero.
template <class Args>
Args known_part(const Args* args, const char* type) {
  using flashmoe::Error, flashmoe::ErrorCode;
  if (args == nullptr) throw Error(ErrorCode::invalid_argument, "flashmoe: args is NULL");
  if (args->struct_size < kFirstSize<Args> || args->struct_size > kLargestArgsSize) {
    throw Error(ErrorCode::invalid_argument,
                "flashmoe: struct_size is " + std::to_string(args->struct_size) + "; accepted are " +
                    std::to_string(kFirstSize<Args>) + " to " + std::to_string(kLargestArgsSize),
                std::string("set struct_size to sizeof(") + type + ")");
  }
  if (args->struct_size > sizeof(Args)) {
    // A newer caller is fine as long as it leaves the fields that this library does not know at zero.
    const auto* bytes = reinterpret_cast<const unsigned char*>(args);
    if (std::any_of(bytes + sizeof(Args), bytes + args->struct_size, [](auto b) { return b != 0; })) {
      throw Error(ErrorCode::unsupported, "flashmoe: args uses fields that this library does not know",
                  "update the library to the header that the program was built with");
    }
  }
  Args known{};
  std::memcpy(&known, args, std::min(args->struct_size, sizeof(known)));
  return known;
}

bool flag(int32_t value, const char* name) {
  if (value == 0 || value == 1) return value == 1;
  throw flashmoe::Error(
      flashmoe::ErrorCode::invalid_argument,
      std::string("flashmoe: ") + name + " is " + std::to_string(value) + "; accepted are 0 and 1",
      "set the whole struct to zero before filling it in");
}

flashmoe::Window from_c(const flashmoe_window* window) {
  return window == nullptr ? flashmoe::Window{} : flashmoe::Window{window->left, window->right};
}

flashmoe::Lengths from_c(const flashmoe_lengths* lengths) {
  if (lengths == nullptr) return {};
  return {.q_starts = lengths->q_starts,
          .k_starts = lengths->k_starts,
          .q_used = lengths->q_used,
          .k_used = lengths->k_used,
          .sequences = lengths->sequences,
          .longest_q = lengths->longest_q,
          .longest_k = lengths->longest_k};
}

flashmoe::Spans from_c(const flashmoe_spans* spans) {
  if (spans == nullptr) return {};
  return {.documents = spans->documents,
          .documents_stride = spans->documents_stride,
          .prefix = spans->prefix,
          .left_padding = spans->left_padding,
          .chunk = spans->chunk,
          .first_keys = spans->first_keys};
}

flashmoe::Scores from_c(const flashmoe_scores* scores) {
  if (scores == nullptr) return {};
  require_zero(scores->reserved, "scores");
  flashmoe::PairTensor attn_mask{};
  if (scores->attn_mask != nullptr) {
    require_zero(scores->attn_mask->reserved, "scores.attn_mask");
    attn_mask = {.data = scores->attn_mask->data,
                 .type = static_cast<flashmoe::PairType>(scores->attn_mask->type)};
    std::copy_n(scores->attn_mask->strides, 4, attn_mask.strides.begin());
  }
  return {.softcap = scores->softcap,
          .alibi_slopes = scores->alibi_slopes,
          .slopes_batch_stride = scores->slopes_batch_stride,
          .sinks = scores->sinks,
          .attn_mask = attn_mask};
}

flashmoe::PairGradient from_c(const flashmoe_pair_gradient* gradient) {
  if (gradient == nullptr) return {};
  flashmoe::PairGradient converted{.data = gradient->data};
  std::copy_n(gradient->strides, 4, converted.strides.begin());
  return converted;
}

flashmoe::Dropout from_c(const flashmoe_dropout* dropout) {
  if (dropout == nullptr) return {};
  require_zero(dropout->reserved, "dropout");
  return {.p = dropout->p, .seed = dropout->seed};
}

flashmoe::ForwardArgs from_c(const flashmoe_forward_args* args) {
  const flashmoe_forward_args known = known_part(args, "flashmoe_forward_args");
  flashmoe::ForwardArgs converted{.q = from_c(known.q, "q"),
                                  .k = from_c(known.k, "k"),
                                  .v = from_c(known.v, "v"),
                                  .out = from_c(known.out, "out"),
                                  .lse = known.lse,
                                  .mask = static_cast<flashmoe::Mask>(known.mask)};
  if (known.scale != nullptr) converted.scale = *known.scale;
  converted.execution = {.device = static_cast<flashmoe::Device>(known.device),
                         .threads = known.threads,
                         .stream = known.stream,
                         .programmatic = flag(known.programmatic_launch, "programmatic_launch"),
                         .cancel = known.cancel};
  converted.window = from_c(known.window);
  converted.lengths = from_c(known.lengths);
  converted.spans = from_c(known.spans);
  converted.scores = from_c(known.scores);
  converted.dropout = from_c(known.dropout);
  return converted;
}

flashmoe::BackwardArgs from_c(const flashmoe_backward_args* args) {
  const flashmoe_backward_args known = known_part(args, "flashmoe_backward_args");
  flashmoe::BackwardArgs converted{.q = from_c(known.q, "q"),
                                   .k = from_c(known.k, "k"),
                                   .v = from_c(known.v, "v"),
                                   .out = from_c(known.out, "out"),
                                   .lse = known.lse,
                                   .dout = from_c(known.dout, "dout"),
                                   .dlse = known.dlse,
                                   .dq = from_c(known.dq, "dq"),
                                   .dk = from_c(known.dk, "dk"),
                                   .dv = from_c(known.dv, "dv"),
                                   .mask = static_cast<flashmoe::Mask>(known.mask),
                                   .deterministic = flag(known.deterministic, "deterministic")};
  if (known.scale != nullptr) converted.scale = *known.scale;
  converted.execution = {.device = static_cast<flashmoe::Device>(known.device),
                         .threads = known.threads,
                         .stream = known.stream,
                         .cancel = known.cancel};
  converted.window = from_c(known.window);
  converted.lengths = from_c(known.lengths);
  converted.spans = from_c(known.spans);
  converted.scores = from_c(known.scores);
  converted.dropout = from_c(known.dropout);
  converted.dsinks = known.dsinks;
  converted.dattn_mask = from_c(known.dattn_mask);
  return converted;
}

void remember(const char* what) noexcept {
  try {
    last_error = what;
  } catch (...) {  // out of memory: the status has to do
    last_error.clear();
  }
}

template <class Call>
flashmoe_status guarded(Call call) noexcept {
  last_error.clear();
  try {
    call();
    return FLASHMOE_OK;
  } catch (const flashmoe::Error& error) {
    remember(error.what());
    return static_cast<flashmoe_status>(error.code());
  } catch (const std::exception& error) {
    remember(error.what());
  } catch (...) {
    remember("flashmoe: internal error");
  }
  return FLASHMOE_INTERNAL;
}

void require(const void* pointer, const char* name) {
  if (pointer != nullptr) return;
  throw flashmoe::Error(flashmoe::ErrorCode::invalid_argument, std::string("flashmoe: ") + name + " is NULL");
}

void copy_text(const std::string& from, char* text, size_t capacity, size_t* needed) {
  if (needed != nullptr) *needed = from.size() + 1;
  if (capacity == 0) return;
  require(text, "text");
  const std::size_t count = std::min(from.size(), capacity - 1);
  std::memcpy(text, from.data(), count);
  text[count] = '\0';
}

}  // namespace

extern "C" {

flashmoe_status flashmoe_forward_workspace_bytes(const flashmoe_forward_args* args, size_t* bytes) {
  return guarded([&] {
    require(bytes, "bytes");
    *bytes = flashmoe::forward_workspace_bytes(from_c(args));
  });
}

flashmoe_status flashmoe_attention_forward(const flashmoe_forward_args* args, void* workspace,
                                           size_t workspace_bytes) {
  return guarded([&] { flashmoe::attention_forward(from_c(args), {workspace, workspace_bytes}); });
}

flashmoe_status flashmoe_attention_forward_with(const flashmoe_forward_args* args, flashmoe_allocate allocate,
                                                void* context) {
  return guarded([&] {
    require(reinterpret_cast<const void*>(allocate), "allocate");
    flashmoe::attention_forward_with(from_c(args), {allocate, context});
  });
}

flashmoe_status flashmoe_explain_forward(const flashmoe_forward_args* args, char* text, size_t capacity,
                                         size_t* needed) {
  return guarded([&] { copy_text(flashmoe::explain_forward(from_c(args)), text, capacity, needed); });
}

flashmoe_status flashmoe_backward_workspace_bytes(const flashmoe_backward_args* args, size_t* bytes) {
  return guarded([&] {
    require(bytes, "bytes");
    *bytes = flashmoe::backward_workspace_bytes(from_c(args));
  });
}

flashmoe_status flashmoe_attention_backward(const flashmoe_backward_args* args, void* workspace,
                                            size_t workspace_bytes) {
  return guarded([&] { flashmoe::attention_backward(from_c(args), {workspace, workspace_bytes}); });
}

flashmoe_status flashmoe_attention_backward_with(const flashmoe_backward_args* args,
                                                 flashmoe_allocate allocate, void* context) {
  return guarded([&] {
    require(reinterpret_cast<const void*>(allocate), "allocate");
    flashmoe::attention_backward_with(from_c(args), {allocate, context});
  });
}

flashmoe_status flashmoe_explain_backward(const flashmoe_backward_args* args, char* text, size_t capacity,
                                          size_t* needed) {
  return guarded([&] { copy_text(flashmoe::explain_backward(from_c(args)), text, capacity, needed); });
}

const char* flashmoe_last_error(void) { return last_error.c_str(); }

const char* flashmoe_version(void) {
  static const std::string text = flashmoe::version();
  return text.c_str();
}

}  // extern "C"
