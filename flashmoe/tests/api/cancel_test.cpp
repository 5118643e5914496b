// SPDX-License-Identifier: MIT
// Execution::cancel: a call on the CPU ends between two blocks once the flag is set, whatever kernel computes
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "api/refusal.h"
#include "flashmoe/flashmoe.h"
#include "support/backward_call.h"

namespace flashmoe::test::cancel_test {
namespace {

// Sets the flag when the call has been checked and is about to compute: a user who presses Ctrl-C at once.
struct Presser {
  int32_t flag = 0;
  std::vector<std::byte> memory;

  WorkspaceSource source() { return {.allocate = give, .context = this}; }
  static void* give(void* self, std::size_t bytes) {
    auto& presser = *static_cast<Presser*>(self);
    presser.flag = 1;
    presser.memory.resize(bytes + kWorkspaceAlignment);
    return Workspace::in(presser.memory.data(), presser.memory.size()).data;
  }
};

// Five minutes of a core, were it not for the flag.
Shape long_shape(DType dtype, int threads) {
  return {.q_rows = 1 << 18, .kv_rows = 1 << 18, .head_dim = 64, .dtype = dtype, .threads = threads};
}

struct Tensors {
  std::vector<std::byte> q, out;
  std::vector<float> lse;
  ForwardArgs args;

  explicit Tensors(const Shape& s)
      : q(static_cast<std::size_t>(s.q_rows * s.head_dim * element_bytes(s.dtype))),
        out(q.size()),
        lse(static_cast<std::size_t>(s.q_rows)) {
    const auto dense = [&](std::vector<std::byte>& memory) {
      return Tensor::dense(memory.data(), s.dtype, {1, 1, s.q_rows, s.head_dim});
    };
    args.q = args.k = args.v = dense(q);
    args.out = dense(out);
    args.lse = lse.data();
    args.execution.threads = s.threads;
  }
};

TEST(Cancel, EndsALongForward) {
  for (const DType dtype : kDTypes) {
    for (const int threads : {1, 2}) {
      Tensors tensors(long_shape(dtype, threads));
      Presser presser;
      tensors.args.execution.cancel = &presser.flag;
      expect_says(refusal_of([&] { attention_forward_with(tensors.args, presser.source()); }),
                  ErrorCode::cancelled, {"attention_forward: execution.cancel was set"}, name_of(dtype));
    }
  }
}

TEST(Cancel, EndsALongBackward) {
  for (const DType dtype : kDTypes) {
    Tensors forward(long_shape(dtype, 2));
    std::vector<std::byte> dq(forward.q.size()), dk(dq.size()), dv(dq.size());
    const auto like_q = [&](std::vector<std::byte>& memory) {
      return Tensor::dense(memory.data(), dtype, forward.args.q.sizes);
    };
    Presser presser;
    BackwardArgs args{.q = forward.args.q,
                      .k = forward.args.k,
                      .v = forward.args.v,
                      .out = forward.args.out,
                      .lse = forward.args.lse,
                      .dout = forward.args.q,
                      .dq = like_q(dq),
                      .dk = like_q(dk),
                      .dv = like_q(dv),
                      .execution = {.threads = 2, .cancel = &presser.flag}};
    expect_says(refusal_of([&] { attention_backward_with(args, presser.source()); }), ErrorCode::cancelled,
                {"attention_backward: execution.cancel was set"}, name_of(dtype));
  }
}

TEST(Cancel, AFlagThatStaysZeroChangesNothing) {
  const Shape shape{.q_heads = 2, .q_rows = 70, .kv_rows = 300, .mask = Mask::causal};
  Problem plain(shape), watched(shape);
  const int32_t flag = 0;
  watched.args.execution.cancel = &flag;
  plain.run();
  watched.run();
  EXPECT_EQ(watched.output_bytes(), plain.output_bytes());
}

TEST(Cancel, IsAStatusInC) {
  Tensors tensors(long_shape(DType::fp32, 1));
  Presser presser;
  const auto to_c = [](const Tensor& t) {
    flashmoe_tensor c{};
    c.data = t.data;
    c.dtype = FLASHMOE_FP32;
    std::copy_n(t.sizes.begin(), 4, c.sizes);
    std::copy_n(t.strides.begin(), 4, c.strides);
    return c;
  };
  flashmoe_forward_args args{};
  args.struct_size = sizeof args;
  args.q = args.k = args.v = to_c(tensors.args.q);
  args.out = to_c(tensors.args.out);
  args.threads = 1;
  args.cancel = &presser.flag;
  EXPECT_EQ(flashmoe_attention_forward_with(&args, Presser::give, &presser), FLASHMOE_CANCELLED)
      << flashmoe_last_error();
}

}  // namespace
}  // namespace flashmoe::test::cancel_test
