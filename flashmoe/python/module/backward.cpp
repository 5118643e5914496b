// SPDX-License-Identifier: MIT
#include "backward.h"

#include "arguments.h"
#include "library_call.h"
#include "results.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

struct Call {
  TensorView q, k, v, out, lse, dout, dlse, dq, dk, dv, dattn_mask;
  CudaDeviceScope device;
  float scale = 0;
  flashmoe_window window{};
  std::optional<LengthsViews> lengths;
  std::optional<SpansViews> spans;
  std::optional<ScoresViews> scores;
  flashmoe_dropout dropout{};
  flashmoe_pair_gradient pairs{};
  flashmoe_backward_args args{};
};

bool read_options(const BackwardRequest& request, Call& call) {
  bool has_scale = false;
  bool has_window = false;
  bool deterministic = false;
  if (!read_mask(request.causal, call.args.mask) || !read_window(request.window, call.window, has_window) ||
      !read_scale(request.scale, "scale", call.scale, has_scale) ||
      !read_flag(request.deterministic, "deterministic", deterministic) ||
      !read_threads(request.threads, call.args.threads)) {
    return false;
  }
  call.args.deterministic = deterministic ? 1 : 0;
  call.args.scale = has_scale ? &call.scale : nullptr;
  call.args.window = has_window ? &call.window : nullptr;
  return true;
}

bool read_input(PyObject* object, const char* name, const Form& form, const TensorView& q, TensorView& view,
                flashmoe_tensor& tensor) {
  if (!read_tensor(object, name, form, view) || !check_same_device(view, q)) return false;
  tensor = view.of_batch();
  return true;
}

bool read_rows(PyObject* object, const char* name, const TensorView& q, TensorView& view,
               const float*& data) {
  if (!read_tensor(object, name, form_of_rows(q), view) || !check_same_device(view, q) ||
      !check_rows(view, q))
    return false;
  data = static_cast<const float*>(view.tensor.data);
  return true;
}

bool read_masks_and_scores(const BackwardRequest& request, Call& call) {
  auto& args = call.args;
  if (!read_lengths(request, call.q, call.lengths, args.lengths)) return false;
  const int64_t entries = entries_of(call.q, call.lengths);
  return read_spans(request, call.q, call.k, entries, call.spans, args.spans) &&
         read_scores(request, call.q, call.k, entries, call.scores, args.scores) &&
         read_dropout(request, call.dropout, args.dropout);
}

bool read_inputs(const BackwardRequest& request, Call& call) {
  auto& args = call.args;
  const Form& form = request.packed ? kPacked : kBatch;
  args.struct_size = sizeof args;
  return read_options(request, call) && read_input(request.q, "q", form, call.q, call.q, args.q) &&
         read_input(request.k, "k", form, call.q, call.k, args.k) &&
         read_input(request.v, "v", form, call.q, call.v, args.v) && read_masks_and_scores(request, call) &&
         read_input(request.out, "out", form, call.q, call.out, args.out) &&
         read_rows(request.lse, "lse", call.q, call.lse, args.lse) &&
         read_input(request.dout, "dout", form, call.q, call.dout, args.dout) &&
         (!given(request.dlse) || read_rows(request.dlse, "dlse", call.q, call.dlse, args.dlse)) &&
         (args.device = call.q.device, enter_device(call.q, call.device, args.stream));
}

// The caller's gradient, or a new one like its tensor.
Ref read_gradient(PyObject* wanted, const char* name, const TensorView& like, TensorView& view,
                  flashmoe_tensor& tensor) {
  if (given(wanted) && !read_target(wanted, name, like.form, like, view)) return {};
  Ref gradient = given(wanted) ? Ref::borrow(wanted) : new_like(like, name, view);
  if (!gradient) return {};
  tensor = view.of_batch();
  return gradient;
}

// Where the gradient of attn_mask is to be written.
bool read_pair_gradient(PyObject* wanted, Call& call) {
  if (!given(wanted)) return true;
  TensorView& view = call.dattn_mask;
  if (!read_target(wanted, "dattn_mask", form_of_pairs(wanted, Elements::floats), call.q, view) ||
      !broadcast_pairs(view, call.q, call.k, call.pairs.strides)) {
    return false;
  }
  if (view.tensor.dtype != FLASHMOE_FP32)
    return fail(PyExc_TypeError, "attention: dattn_mask must be float32, whatever the type of attn_mask");
  call.pairs.data = static_cast<float*>(view.tensor.data);
  call.args.dattn_mask = call.pairs.data == nullptr ? nullptr : &call.pairs;
  return true;
}

}  // namespace

PyObject* run_backward(const BackwardRequest& request) {
  Call call;
  if (!read_inputs(request, call) || !read_pair_gradient(request.dattn_mask, call)) return nullptr;
  auto& args = call.args;
  const Ref dq = read_gradient(request.dq, "dq", call.q, call.dq, args.dq);
  if (!dq) return nullptr;
  const Ref dk = read_gradient(request.dk, "dk", call.k, call.dk, args.dk);
  if (!dk) return nullptr;
  const Ref dv = read_gradient(request.dv, "dv", call.v, call.dv, args.dv);
  if (!dv || !compute(call.q, args, flashmoe_attention_backward_with)) return nullptr;
  return PyTuple_Pack(3, dq.get(), dk.get(), dv.get());
}

}  // namespace flashmoe_python
