// SPDX-License-Identifier: MIT
#include "forward.h"

#include <algorithm>

#include "arguments.h"
#include "library_call.h"
#include "record.h"
#include "results.h"
#include "torch_api.h"
#include "torch_route.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

struct Call {
  TensorView q, k, v, out, lse;
  CudaDeviceScope device;
  float scale = 0;
  flashmoe_window window{};
  std::optional<LengthsViews> lengths;
  std::optional<SpansViews> spans;
  std::optional<ScoresViews> scores;
  flashmoe_dropout dropout{};
  bool return_lse = false;
  flashmoe_forward_args args{};
};

bool read_options(const ForwardRequest& request, Call& call) {
  bool has_scale = false;
  bool has_window = false;
  bool programmatic = false;
  if (!read_mask(request.causal, call.args.mask) || !read_window(request.window, call.window, has_window) ||
      !read_scale(request.scale, request.scale_name, call.scale, has_scale) ||
      !read_flag(request.return_lse, "return_lse", call.return_lse) ||
      !read_threads(request.threads, call.args.threads) ||
      !read_flag(request.programmatic, "programmatic", programmatic)) {
    return false;
  }
  call.args.programmatic_launch = programmatic ? 1 : 0;
  call.args.scale = has_scale ? &call.scale : nullptr;
  call.args.window = has_window ? &call.window : nullptr;
  return true;
}

bool read_inputs(const ForwardRequest& request, Call& call) {
  call.args.struct_size = sizeof call.args;
  const Form& form = request.packed ? kPacked : kBatch;
  if (!read_options(request, call) || !read_tensor(request.q, "q", form, call.q) ||
      !read_tensor(request.k, "k", form, call.k) || !read_tensor(request.v, "v", form, call.v)) {
    return false;
  }
  if (!check_same_device(call.k, call.q) || !check_same_device(call.v, call.q)) return false;
  if (!read_lengths(request, call.q, call.lengths, call.args.lengths)) return false;
  const int64_t entries = entries_of(call.q, call.lengths);
  if (!read_spans(request, call.q, call.k, entries, call.spans, call.args.spans) ||
      !read_scores(request, call.q, call.k, entries, call.scores, call.args.scores) ||
      !read_dropout(request, call.dropout, call.args.dropout))
    return false;
  call.args.q = call.q.of_batch();
  call.args.k = call.k.of_batch();
  call.args.v = call.v.of_batch();
  call.args.device = call.q.device;
  return enter_device(call.q, call.device, call.args.stream);
}

// Judges the inputs alone: with a made-up dense `out`, so that nothing else can fail.
bool check_problem(Call& call) {
  call.args.out = call.args.q;
  const int64_t* size = call.args.q.sizes;
  const int64_t dense[] = {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1};
  std::copy_n(dense, 4, call.args.out.strides);
  std::size_t workspace_bytes = 0;
  const flashmoe_status status = flashmoe_forward_workspace_bytes(&call.args, &workspace_bytes);
  return status == FLASHMOE_OK || raise(status);
}

// The caller's tensor, or a new one.
Ref output(PyObject* wanted, Call& call) {
  if (given(wanted))
    return read_target(wanted, "out", call.q.form, call.q, call.out) ? Ref::borrow(wanted) : Ref();
  Ref out = new_like(call.q, "out", call.out);
  if (out) return out;
  // No memory, say, for a result like q; if q can't be right to begin with, that is what to say.
  PendingException not_allocated;
  if (!check_problem(call)) not_allocated.drop();
  return {};
}

// The same of the log-sum-exp.
Ref lse_output(PyObject* wanted, Call& call) {
  if (!given(wanted)) return new_lse(call.q, call.lse);
  const bool fits =
      read_target(wanted, "lse", form_of_rows(call.q), call.q, call.lse) && check_rows(call.lse, call.q);
  return fits ? Ref::borrow(wanted) : Ref();
}

struct Results {
  Ref out, lse;  // lse: where one was wanted
  explicit operator bool() const { return static_cast<bool>(out); }
};

// Nothing, with an exception, where it fails.
Results compute_results(const ForwardRequest& request, Call& call) {
  Results results{.out = output(request.out, call), .lse = {}};
  if (!results.out) return {};
  call.args.out = call.out.of_batch();
  if (call.return_lse || given(request.lse)) {
    results.lse = lse_output(request.lse, call);
    if (!results.lse) return {};
    call.args.lse = static_cast<float*>(call.lse.tensor.data);
  }
  return compute(call.q, call.args, flashmoe_attention_forward_with) ? std::move(results) : Results{};
}

PyObject* compute(const ForwardRequest& request, Call& call) {
  Results results = compute_results(request, call);
  if (!results) return nullptr;
  return call.return_lse ? PyTuple_Pack(2, results.out.get(), results.lse.get()) : results.out.release();
}

// A function of ours, found when it is first called.
struct PythonFunction {
  const char* module_name;
  const char* name;
  PyObject* callable = nullptr;

  bool find() {
    if (callable != nullptr) return true;
    const Ref module(PyImport_ImportModule(module_name));
    callable = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
    return callable != nullptr;
  }
};

PyObject* or_else(PyObject* object, PyObject* otherwise) { return object == nullptr ? otherwise : object; }
PyObject* or_none(PyObject* object) { return or_else(object, Py_None); }
PyObject* zero() {
  static PyObject* const number = PyLong_FromLong(0);
  return number;
}
PyObject* threads_of(const ForwardRequest& request) {
  return given(request.threads) ? request.threads : zero();
}

// (cu_seqlens_q, cu_seqlens_k, used_q, used_k, documents, prefix, left_padding, max_seqlen_q, max_seqlen_k,
// chunk, first_keys), None where nothing was given.
Ref arrays_and_numbers(const ForwardRequest& request) {
  return Ref(PyTuple_Pack(11, or_none(request.cu_seqlens_q), or_none(request.cu_seqlens_k),
                          or_none(request.used_q), or_none(request.used_k), or_none(request.documents),
                          or_none(request.prefix), or_none(request.left_padding),
                          or_none(request.max_seqlen_q), or_none(request.max_seqlen_k),
                          or_none(request.chunk), or_none(request.first_keys)));
}

// (softcap, dropout_p, alibi_slopes, sinks, attn_mask, dropout_seed), the same.
Ref of_weights(const ForwardRequest& request) {
  return Ref(PyTuple_Pack(6, or_none(request.softcap), or_none(request.dropout_p),
                          or_none(request.alibi_slopes), or_none(request.sinks), or_none(request.attn_mask),
                          or_none(request.dropout_seed)));
}

// A function that takes what attention() takes, and lengths and spans as arrays_and_numbers() has them,
// scores and dropout as of_weights().
PyObject* call_python(PythonFunction& function, const ForwardRequest& request) {
  if (!function.find()) return nullptr;
  static PyObject* const keywords =
      Py_BuildValue("(ssssss)", "threads", "programmatic", "deterministic", "window", "lengths", "scores");
  const Ref lengths =
      request.has_lengths() || request.has_spans() ? arrays_and_numbers(request) : Ref::borrow(Py_None);
  const Ref scores =
      request.has_scores() || request.has_dropout() ? of_weights(request) : Ref::borrow(Py_None);
  if (!lengths || !scores) return nullptr;
  PyObject* args[] = {request.q,
                      request.k,
                      request.v,
                      or_else(request.causal, Py_False),
                      or_none(request.scale),
                      or_else(request.return_lse, Py_False),
                      or_none(request.out),
                      threads_of(request),
                      given(request.programmatic) ? request.programmatic : Py_False,
                      or_none(request.deterministic),
                      or_none(request.window),
                      lengths.get(),
                      scores.get()};
  return PyObject_Vectorcall(function.callable, args, 7, keywords);
}

PyObject* through_operators(const ForwardRequest& request) {
  static PythonFunction function{"flashmoe_science.torch", "operated_attention"};
  return call_python(function, request);
}

PyObject* through_autocast(const ForwardRequest& request) {
  static PythonFunction function{"flashmoe_science.torch", "lowered_attention"};
  return call_python(function, request);
}

// PyTorch's q, k and v, lengths and spans of its tensors and of integers: what can be kept for the backward
// pass as it is.
bool is_recordable(const ForwardRequest& request) {
  const auto is_tensor = [](PyObject* array) { return !given(array) || is_torch_tensor(array); };
  const auto is_number = [](PyObject* number) { return !given(number) || PyLong_Check(number); };
  return is_torch_tensor(request.q) && is_torch_tensor(request.k) && is_torch_tensor(request.v) &&
         !given(request.out) && !request.has_scores() && !request.has_dropout() &&
         is_tensor(request.cu_seqlens_q) && is_tensor(request.cu_seqlens_k) && is_tensor(request.used_q) &&
         is_tensor(request.used_k) && is_tensor(request.documents) && is_tensor(request.prefix) &&
         is_tensor(request.left_padding) && is_number(request.max_seqlen_q) &&
         is_number(request.max_seqlen_k) && is_number(request.chunk) && is_number(request.first_keys) &&
         torch()->has_operators;
}

struct Kept {
  Ref saved, options;
};

// What the backward pass of a plain call needs.
Kept kept_of_plain(const ForwardRequest& request, PyObject* out, PyObject* lse) {
  return {Ref(PyTuple_Pack(5, request.q, request.k, request.v, out, lse)),
          Ref(PyTuple_Pack(5, or_else(request.causal, Py_False), or_none(request.scale), threads_of(request),
                           or_none(request.deterministic), or_none(request.window)))};
}

// The same with lengths and spans: their arrays behind the tensors, their numbers behind the options.
Kept kept_of_general(const ForwardRequest& request, PyObject* out, PyObject* lse) {
  const auto number = [](PyObject* object) { return given(object) ? object : zero(); };
  return {
      Ref(PyTuple_Pack(12, request.q, request.k, request.v, out, lse, or_none(request.cu_seqlens_q),
                       or_none(request.cu_seqlens_k), or_none(request.used_q), or_none(request.used_k),
                       or_none(request.documents), or_none(request.prefix), or_none(request.left_padding))),
      Ref(PyTuple_Pack(9, or_else(request.causal, Py_False), or_none(request.scale), threads_of(request),
                       or_none(request.deterministic), or_none(request.window), number(request.max_seqlen_q),
                       number(request.max_seqlen_k), number(request.chunk), number(request.first_keys)))};
}

// Most calls in training: what has been read is computed here, and recorded behind that.
PyObject* compute_and_record(const ForwardRequest& request, Call& call) {
  static PythonFunction apply{"flashmoe_science._autograd", "apply_call"};
  if (!apply.find()) return nullptr;
  const bool return_lse = std::exchange(call.return_lse, true);
  const Results results = compute_results(request, call);
  if (!results) return nullptr;
  PyObject* const out = results.out.get();
  PyObject* const lse = results.lse.get();
  const bool is_plain = !request.has_lengths() && !request.has_spans();
  const Kept kept = is_plain ? kept_of_plain(request, out, lse) : kept_of_general(request, out, lse);
  const Ref inputs(PyTuple_Pack(3, request.q, request.k, request.v));
  const Ref result = return_lse ? Ref(PyTuple_Pack(2, out, lse)) : Ref::borrow(out);
  if (!kept.saved || !kept.options || !inputs || !result) return nullptr;
  return record(apply.callable, inputs.get(),
                {.saved = kept.saved.get(), .options = kept.options.get(), .result = result.get()});
}

PyObject* through_autograd(const ForwardRequest& request, Call& call) {
  static PythonFunction function{"flashmoe_science.torch", "recorded_attention"};
  if (is_recordable(request)) {
    if (PyObject* result = compute_and_record(request, call)) return result;
    // Autograd refuses under torch.func, which is not asked about before: that would cost every other call.
    PendingException refused;
    if (!torch_transforms()) return nullptr;
    refused.drop();
  }
  return call_python(function, request);
}

// -1 with an exception.
int any_wants_grad(const Call& call) {
  for (const TensorView* view : {&call.q, &call.k, &call.v}) {
    if (const int wants = wants_grad(*view); wants != 0) return wants;
  }
  if (!call.scores) return 0;
  const flashmoe_scores& scores = call.scores->scores;
  const int sinks = scores.sinks == nullptr ? 0 : wants_grad(call.scores->sinks);
  return sinks != 0 || scores.attn_mask == nullptr ? sinks : wants_grad(call.scores->attn_mask);
}

bool any_is_wrapped(const ForwardRequest& request) {
  for (PyObject* object :
       {request.q, request.k, request.v, request.sinks, request.attn_mask, request.dropout_seed})
    if (given(object) && torch_wraps(object)) return true;
  return false;
}

}  // namespace

PyObject* run_forward(const ForwardRequest& asked) {
  ForwardRequest request = asked;
  Ref seed;
  bool deterministic = false;
  if (!read_flag(request.deterministic, "deterministic", deterministic) ||
      !draw_seed(request.q, request, seed))
    return nullptr;
  const bool lse_in_place = given(request.lse);
  if (!lse_in_place && is_torch_tensor(request.q)) {
    if (torch_watches(request.q)) return through_operators(request);
    // What is written in place keeps its type, as everywhere in PyTorch.
    if (!given(request.out) && torch_autocasts()) return through_autocast(request);
  }
  Call call;
  if (!read_inputs(request, call)) {
    if (lse_in_place || !any_is_wrapped(request)) return nullptr;
    PyErr_Clear();
    return through_operators(request);
  }
  const int wants = any_wants_grad(call);
  if (wants < 0) return nullptr;
  if (wants == 0) return compute(request, call);
  if (!lse_in_place) return through_autograd(request, call);
  fail(PyExc_NotImplementedError,
       "attention: lse is written in place, and q, k or v requires grad\n  try: attention(..., "
       "return_lse=True), "
       "or call under torch.no_grad()");
  return nullptr;
}

PyObject* compute_forward(const ForwardRequest& request) {
  Call call;
  return read_inputs(request, call) ? compute(request, call) : nullptr;
}

namespace {

// What the backward pass of this call would be given: gradients laid out as their tensors, densely.
flashmoe_backward_args backward_of(const Call& call, bool deterministic) {
  flashmoe_backward_args args{};
  args.struct_size = sizeof args;
  args.q = args.out = args.dout = args.dq = call.args.q;
  args.k = args.dk = call.args.k;
  args.v = args.dv = call.args.v;
  args.mask = call.args.mask;
  args.scale = call.args.scale;
  args.window = call.args.window;
  args.lengths = call.args.lengths;
  args.spans = call.args.spans;
  args.scores = call.args.scores;
  args.dropout = call.args.dropout;
  args.device = call.args.device;
  args.stream = call.args.stream;
  args.threads = call.args.threads;
  args.deterministic = deterministic ? 1 : 0;
  return args;
}

}  // namespace

PyObject* explain_call(const ForwardRequest& asked) {
  ForwardRequest request = asked;
  request.dropout_seed = Py_False;  // any: nothing is drawn
  Call call;
  bool backward = false;
  bool deterministic = false;
  if (!read_flag(request.backward, "backward", backward) ||
      !read_flag(request.deterministic, "deterministic", deterministic) || !read_inputs(request, call) ||
      !check_problem(call)) {
    return nullptr;
  }
  return backward ? explanation(backward_of(call, deterministic), flashmoe_explain_backward)
                  : explanation(call.args, flashmoe_explain_forward);
}

}  // namespace flashmoe_python
