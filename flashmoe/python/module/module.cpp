// SPDX-License-Identifier: MIT
// flashmoe_science._C: the module's functions, their signatures and their documentation.
#include "arguments.h"
#include "backward.h"
#include "flashmoe/flashmoe.h"
#include "forward.h"
#include "num_threads.h"
#include "record.h"
#include "results.h"
#include "signature.h"

namespace flashmoe_python {
namespace {

// What comes before "--" is what inspect.signature shows.
constexpr char kAttentionDoc[] =
    R"(attention($module, /, q, k, v, causal=False, scale=None, return_lse=False, out=None, *, threads=0, programmatic=False, deterministic=None, window=None, q_lengths=None, kv_lengths=None, documents=None, prefix=None, left_padding=None, chunk=0, first_keys=0, softcap=None, alibi_slopes=None, sinks=None, attn_mask=None, dropout_p=0.0, dropout_seed=None)
--

Exact attention: softmax(scale * q k^T + mask) v, computed tile by tile.

q: [B, Hq, Sq, D]; k, v: [B, Hkv, Skv, D], all float32, float16 or bfloat16. NumPy arrays, PyTorch tensors, or any
    object with DLPack or the buffer protocol. Hq is a multiple of Hkv (MHA, GQA, MQA). The last dimension is
    contiguous; the other strides are free (transposed, sliced, expanded, reversed). Nothing is copied.
causal: True or 'bottom_right' lets the last query see the last key: query i sees keys j <= i + Skv - Sq.
    'top_left' lets the first query see the first key only, as PyTorch's is_causal does.
    The two are the same when Sq == Skv.
scale: 1/sqrt(D) when None.
out: [B, Hq, Sq, D], the dtype of q, written in place and returned; must not overlap q, k or v. Needed where q is
    neither a NumPy array nor a PyTorch tensor.
threads: at most this many CPU threads; 0 = as set_num_threads() says, or every core this process may use.
programmatic: on a GPU, lets the kernel start while the one before it on the stream still runs; it waits for that
    one's end before it reads or writes memory. Kernels that can't do this start as ever: see explain().
deterministic: whether the backward pass of PyTorch tensors gives the same bits every time; None follows
    torch.are_deterministic_algorithms_enabled(). The forward pass does in any case.
window: (left, right): a query sees at most so many keys before its own position and behind it, which is that of the
    last key it sees under `causal`; None or -1 for a side without a limit. (1023, 0) is a sliding window of 1024 keys.
q_lengths, kv_lengths: int32 [B], for a padded batch: only the first so many rows of q, or of k and v, count. `causal` and
    `window` count within them. Rows behind them give 0 and an lse of -inf, and what they hold reaches nothing.
    attention_varlen() is for sequences that are packed.
documents: int32 [B, Skv] or [Skv]: a number for each key, and for the query at its position, which sees no other
    document. Neighbours with the same number are one document: a number that comes back later is another one.
prefix: int32 [B]: the first so many keys are seen by the queries before them too, whatever `causal` hides.
left_padding: int32 [B]: the first so many keys are seen by no query.
chunk: a query sees keys of its own chunk of so many positions; 0 = no chunks.
first_keys: so many keys at the beginning, of the document or behind the padding, are seen also where the left side of
    `window`, or `chunk`, hides them.
    A key is seen where all of these, `causal` and `window` let it be.
softcap: a score s = scale * q k becomes softcap * tanh(s / softcap) before the mask; None or 0: it stays.
alibi_slopes: float32 [Hq] or [B, Hq] ([sequences, Hq] where packed): a key loses slope * its distance from the query's own
    position, from which `window` counts too. No gradient of the slopes is computed.
sinks: float32 [Hq]: one more score in each row's softmax, of a key without a value; lse includes it. Differentiable.
attn_mask: bool (True where a key is seen) or float32, float16, bfloat16 (added to the scores, behind `softcap` and the
    slopes), broadcast to [B, Hq, Sq, Skv] as PyTorch does; strides are free. Beside `causal`, `window` and the other masks:
    a key is seen where all of them let it be. -inf hides; v must be finite where a tensor hides it. Differentiable where it
    is added. Fast on the CPU; on a GPU by the general kernels, and not beside q_lengths and kv_lengths.
dropout_p: each weight of the softmax is left out with this probability, 0 to less than 1, in steps of 2^-16, and the others
    are divided by 1 - dropout_p; lse is the one without. On a GPU by the general kernels, slowly.
dropout_seed: which ones: an integer, or a tensor of one, decides together with the place of query and key (batch entry or
    sequence, head, row, key). None draws it from PyTorch's generator, as torch.manual_seed() left it; a torch.Generator
    from that one. The gradients are those of the same draw. NumPy arrays need an integer.

Returns out [B, Hq, Sq, D], a new tensor of q's library laid out in memory as q is, or (out, lse) with return_lse:
lse [B, Hq, Sq] in float32 is the natural log of the sum of exp over the keys of each row.
A row that sees no key gives 0, and an lse of -inf, or its sink.
PyTorch tensors that require grad give results that can be differentiated once, lse too.

Raises ValueError, TypeError or NotImplementedError before anything is written.)";

constexpr char kVarlenDoc[] =
    R"(attention_varlen($module, /, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, max_seqlen_k=None, *, seqused_q=None, seqused_k=None, causal=False, scale=None, return_lse=False, out=None, threads=0, programmatic=False, deterministic=None, window=None, documents=None, prefix=None, left_padding=None, chunk=0, first_keys=0, softcap=None, alibi_slopes=None, sinks=None, dropout_p=0.0, dropout_seed=None)
--

attention() of sequences of different lengths that are packed one behind the other.

q: [total_q, Hq, D]; k, v: [total_k, Hkv, D], as attention() takes them.
cu_seqlens_q, cu_seqlens_k: int32 [sequences + 1], never falling: sequence b is the rows cu_seqlens[b] to
    cu_seqlens[b + 1]. A sequence may be empty.
max_seqlen_q, max_seqlen_k: the longest, where it is known. No result depends on it.
seqused_q, seqused_k: int32 [sequences]: only the first so many rows of a sequence count.
causal, window: within each sequence: its last query sees its last key.
documents, prefix, left_padding, chunk, first_keys: as for attention(), within each sequence. documents: int32 [total_k], a
    number for each key of all sequences; prefix, left_padding: int32 [sequences].
scale, return_lse, out, threads, programmatic, deterministic, softcap, alibi_slopes, sinks, dropout_p, dropout_seed: as for
    attention(); out is [total_q, Hq, D].

Returns out [total_q, Hq, D], or (out, lse) with lse [Hq, total_q] in float32. Each sequence gives what attention()
gives for it alone, bit for bit, but for what dropout draws. Rows that belong to no sequence, or don't count, give 0 and
an lse of -inf. Differentiable as attention() is.)";

constexpr char kVarlenBackwardDoc[] =
    R"(attention_varlen_backward($module, /, q, k, v, out, lse, dout, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, max_seqlen_k=None, *, seqused_q=None, seqused_k=None, dlse=None, causal=False, scale=None, deterministic=False, threads=0, dq=None, dk=None, dv=None, window=None, documents=None, prefix=None, left_padding=None, chunk=0, first_keys=0, softcap=None, alibi_slopes=None, sinks=None, dropout_p=0.0, dropout_seed=None)
--

The gradients of attention_varlen(): (dq, dk, dv), as attention_backward() gives those of attention().

q, out, dout, dq: [total_q, Hq, D]; k, v, dk, dv: [total_k, Hkv, D]; lse, dlse: [Hq, total_q] in float32.
Rows that belong to no sequence, or don't count, have gradient 0.)";

constexpr char kExplainDoc[] =
    R"(explain($module, /, q, k, v, causal=False, scale=None, *, threads=0, programmatic=False, deterministic=False, backward=False, window=None, q_lengths=None, kv_lengths=None, documents=None, prefix=None, left_padding=None, chunk=0, first_keys=0, cu_seqlens_q=None, cu_seqlens_k=None, softcap=None, alibi_slopes=None, sinks=None, attn_mask=None, dropout_p=0.0)
--

What attention() would do for these arguments, and why, in a few lines; or, with backward, what its backward pass
would do. Shapes as for attention(), or with cu_seqlens_q and cu_seqlens_k as for attention_varlen().)";

constexpr char kAttentionBackwardDoc[] =
    R"(attention_backward($module, /, q, k, v, out, lse, dout, *, dlse=None, causal=False, scale=None, deterministic=False, threads=0, dq=None, dk=None, dv=None, window=None, q_lengths=None, kv_lengths=None, documents=None, prefix=None, left_padding=None, chunk=0, first_keys=0, softcap=None, alibi_slopes=None, sinks=None, attn_mask=None, dattn_mask=None, dropout_p=0.0, dropout_seed=None)
--

The gradients of attention(): (dq, dk, dv), from its inputs, its results and the gradients of its results.

q, k, v, causal, scale, window, q_lengths, kv_lengths, softcap, alibi_slopes, sinks, attn_mask, dropout_p, threads:
    as given to attention(q, k, v, ..., return_lse=True). The gradients of the sinks are not among the results.
out, lse: what it returned: [B, Hq, Sq, D], and [B, Hq, Sq] in float32.
dout: [B, Hq, Sq, D], the dtype of q: the gradient of out.
dlse: [B, Hq, Sq] in float32, contiguous: the gradient of lse; None counts as 0.
deterministic: the same arguments give the same bits; otherwise a GPU may sum dq and dattn_mask in any order.
dq, dk, dv: shaped as q, k and v, written in place and returned; they share no memory with anything else. Needed
    where q, k, v are neither NumPy arrays nor PyTorch tensors.
dropout_seed: the integer by which attention() drew.
dattn_mask: float32, shaped as attn_mask or anything else that is broadcast so, its last dimension contiguous: written in
    place with the gradient of attn_mask, summed over what is broadcast. None: not computed.

dk and dv are sums over the query heads that share a K/V head. Rows that see no key, and keys that no row sees, have
gradient 0. Autograd is not told: a PyTorch tensor that requires grad is differentiated by attention() itself.)";

constexpr char kSetNumThreadsDoc[] =
    R"(set_num_threads($module, count, /)
--

At most this many CPU threads in calls that do not say; 0 = every core this process may use. For the whole process, from
the next call on. In the beginning it is the environment's FLASHMOE_NUM_THREADS, or 0.)";

constexpr char kGetNumThreadsDoc[] =
    R"(get_num_threads($module, /)
--

What set_num_threads() set.)";

constexpr char kFlashAttentionForwardDoc[] =
    R"(flash_attention_forward(Q, K, V, lse=None, causal=False, softmax_scale=None)
flash_attention_forward(Q, K, V, causal=False, softmax_scale=None)

The same computation under the names that existing scripts use.

Q: [B, Hq, Sq, D]; K, V: [B, Hkv, Skv, D]; lse: float32 [B, Hq, Sq], contiguous, written in place.
A bool as the fourth argument is `causal`, a tensor there is `lse`.
Returns O [B, Hq, Sq, D].)";

using Request = ForwardRequest;

constexpr Parameter<Request> kInputs[] = {{"q", &Request::q},
                                          {"k", &Request::k},
                                          {"v", &Request::v},
                                          {"causal", &Request::causal},
                                          {"scale", &Request::scale}};
constexpr Parameter<Request> kResults[] = {{"return_lse", &Request::return_lse}, {"out", &Request::out}};
constexpr Parameter<Request> kOptions[] = {{"threads", &Request::threads},
                                           {"programmatic", &Request::programmatic},
                                           {"deterministic", &Request::deterministic},
                                           {"window", &Request::window},
                                           {"q_lengths", &Request::used_q},
                                           {"kv_lengths", &Request::used_k},
                                           {"documents", &Request::documents},
                                           {"prefix", &Request::prefix},
                                           {"left_padding", &Request::left_padding},
                                           {"chunk", &Request::chunk},
                                           {"first_keys", &Request::first_keys},
                                           {"softcap", &Request::softcap},
                                           {"alibi_slopes", &Request::alibi_slopes},
                                           {"sinks", &Request::sinks},
                                           {"attn_mask", &Request::attn_mask},
                                           {"dropout_p", &Request::dropout_p},
                                           {"dropout_seed", &Request::dropout_seed}};
constexpr Parameter<Request> kComputeOptions[] = {{"threads", &Request::threads},
                                                  {"programmatic", &Request::programmatic},
                                                  {"deterministic", &Request::deterministic},
                                                  {"window", &Request::window},
                                                  {"cu_seqlens_q", &Request::cu_seqlens_q},
                                                  {"cu_seqlens_k", &Request::cu_seqlens_k},
                                                  {"used_q", &Request::used_q},
                                                  {"used_k", &Request::used_k},
                                                  {"documents", &Request::documents},
                                                  {"prefix", &Request::prefix},
                                                  {"left_padding", &Request::left_padding},
                                                  {"chunk", &Request::chunk},
                                                  {"first_keys", &Request::first_keys},
                                                  {"max_seqlen_q", &Request::max_seqlen_q},
                                                  {"max_seqlen_k", &Request::max_seqlen_k},
                                                  {"softcap", &Request::softcap},
                                                  {"alibi_slopes", &Request::alibi_slopes},
                                                  {"sinks", &Request::sinks},
                                                  {"attn_mask", &Request::attn_mask},
                                                  {"dropout_p", &Request::dropout_p},
                                                  {"dropout_seed", &Request::dropout_seed}};
constexpr Parameter<Request> kVarlenInputs[] = {{"q", &Request::q},
                                                {"k", &Request::k},
                                                {"v", &Request::v},
                                                {"cu_seqlens_q", &Request::cu_seqlens_q},
                                                {"cu_seqlens_k", &Request::cu_seqlens_k},
                                                {"max_seqlen_q", &Request::max_seqlen_q},
                                                {"max_seqlen_k", &Request::max_seqlen_k}};
constexpr Parameter<Request> kVarlenOptions[] = {{"seqused_q", &Request::used_q},
                                                 {"seqused_k", &Request::used_k},
                                                 {"causal", &Request::causal},
                                                 {"scale", &Request::scale},
                                                 {"return_lse", &Request::return_lse},
                                                 {"out", &Request::out},
                                                 {"threads", &Request::threads},
                                                 {"programmatic", &Request::programmatic},
                                                 {"deterministic", &Request::deterministic},
                                                 {"window", &Request::window},
                                                 {"documents", &Request::documents},
                                                 {"prefix", &Request::prefix},
                                                 {"left_padding", &Request::left_padding},
                                                 {"chunk", &Request::chunk},
                                                 {"first_keys", &Request::first_keys},
                                                 {"softcap", &Request::softcap},
                                                 {"alibi_slopes", &Request::alibi_slopes},
                                                 {"sinks", &Request::sinks},
                                                 {"dropout_p", &Request::dropout_p},
                                                 {"dropout_seed", &Request::dropout_seed}};
constexpr Parameter<Request> kExplainOptions[] = {{"threads", &Request::threads},
                                                  {"programmatic", &Request::programmatic},
                                                  {"deterministic", &Request::deterministic},
                                                  {"backward", &Request::backward},
                                                  {"window", &Request::window},
                                                  {"q_lengths", &Request::used_q},
                                                  {"kv_lengths", &Request::used_k},
                                                  {"documents", &Request::documents},
                                                  {"prefix", &Request::prefix},
                                                  {"left_padding", &Request::left_padding},
                                                  {"chunk", &Request::chunk},
                                                  {"first_keys", &Request::first_keys},
                                                  {"cu_seqlens_q", &Request::cu_seqlens_q},
                                                  {"cu_seqlens_k", &Request::cu_seqlens_k},
                                                  {"softcap", &Request::softcap},
                                                  {"alibi_slopes", &Request::alibi_slopes},
                                                  {"sinks", &Request::sinks},
                                                  {"attn_mask", &Request::attn_mask},
                                                  {"dropout_p", &Request::dropout_p}};

bool has_starts(const LengthsRequest& request) {
  return given(request.cu_seqlens_q) || given(request.cu_seqlens_k);
}

PyObject* attention(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature<Request> signature("attention", 3, {kInputs, kResults}, kOptions);
  Request request;
  return signature.parse(args, nargs, kwnames, request) ? run_forward(request) : nullptr;
}

PyObject* attention_varlen(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature<Request> signature("attention_varlen", 5, {kVarlenInputs}, kVarlenOptions);
  Request request;
  request.packed = true;
  return signature.parse(args, nargs, kwnames, request) ? run_forward(request) : nullptr;
}

PyObject* compute_attention(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature<Request> signature("attention", 3, {kInputs, kResults}, kComputeOptions);
  Request request;
  if (!signature.parse(args, nargs, kwnames, request)) return nullptr;
  request.packed = has_starts(request);
  return compute_forward(request);
}

PyObject* explain(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature<Request> signature("explain", 3, {kInputs}, kExplainOptions);
  Request request;
  if (!signature.parse(args, nargs, kwnames, request)) return nullptr;
  request.packed = has_starts(request);
  return explain_call(request);
}

using Gradients = BackwardRequest;

constexpr Parameter<Gradients> kGradientTensors[] = {{"q", &Gradients::q},     {"k", &Gradients::k},
                                                     {"v", &Gradients::v},     {"out", &Gradients::out},
                                                     {"lse", &Gradients::lse}, {"dout", &Gradients::dout}};

PyObject* attention_backward(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Parameter<Gradients> kByName[] = {{"dlse", &Gradients::dlse},
                                                     {"causal", &Gradients::causal},
                                                     {"scale", &Gradients::scale},
                                                     {"deterministic", &Gradients::deterministic},
                                                     {"threads", &Gradients::threads},
                                                     {"dq", &Gradients::dq},
                                                     {"dk", &Gradients::dk},
                                                     {"dv", &Gradients::dv},
                                                     {"window", &Gradients::window},
                                                     {"q_lengths", &Gradients::used_q},
                                                     {"kv_lengths", &Gradients::used_k},
                                                     {"documents", &Gradients::documents},
                                                     {"prefix", &Gradients::prefix},
                                                     {"left_padding", &Gradients::left_padding},
                                                     {"chunk", &Gradients::chunk},
                                                     {"first_keys", &Gradients::first_keys},
                                                     {"softcap", &Gradients::softcap},
                                                     {"alibi_slopes", &Gradients::alibi_slopes},
                                                     {"sinks", &Gradients::sinks},
                                                     {"attn_mask", &Gradients::attn_mask},
                                                     {"dattn_mask", &Gradients::dattn_mask},
                                                     {"dropout_p", &Gradients::dropout_p},
                                                     {"dropout_seed", &Gradients::dropout_seed}};
  static const Signature<Gradients> signature("attention_backward", 6, {kGradientTensors}, kByName);
  Gradients request;
  return signature.parse(args, nargs, kwnames, request) ? run_backward(request) : nullptr;
}

PyObject* attention_varlen_backward(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Parameter<Gradients> kStarts[] = {{"cu_seqlens_q", &Gradients::cu_seqlens_q},
                                                     {"cu_seqlens_k", &Gradients::cu_seqlens_k},
                                                     {"max_seqlen_q", &Gradients::max_seqlen_q},
                                                     {"max_seqlen_k", &Gradients::max_seqlen_k}};
  static constexpr Parameter<Gradients> kByName[] = {{"seqused_q", &Gradients::used_q},
                                                     {"seqused_k", &Gradients::used_k},
                                                     {"dlse", &Gradients::dlse},
                                                     {"causal", &Gradients::causal},
                                                     {"scale", &Gradients::scale},
                                                     {"deterministic", &Gradients::deterministic},
                                                     {"threads", &Gradients::threads},
                                                     {"dq", &Gradients::dq},
                                                     {"dk", &Gradients::dk},
                                                     {"dv", &Gradients::dv},
                                                     {"window", &Gradients::window},
                                                     {"documents", &Gradients::documents},
                                                     {"prefix", &Gradients::prefix},
                                                     {"left_padding", &Gradients::left_padding},
                                                     {"chunk", &Gradients::chunk},
                                                     {"first_keys", &Gradients::first_keys},
                                                     {"softcap", &Gradients::softcap},
                                                     {"alibi_slopes", &Gradients::alibi_slopes},
                                                     {"sinks", &Gradients::sinks},
                                                     {"dropout_p", &Gradients::dropout_p},
                                                     {"dropout_seed", &Gradients::dropout_seed}};
  static const Signature<Gradients> signature("attention_varlen_backward", 8, {kGradientTensors, kStarts},
                                              kByName);
  Gradients request;
  request.packed = true;
  return signature.parse(args, nargs, kwnames, request) ? run_backward(request) : nullptr;
}

PyObject* flash_attention_forward(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Parameter<Request> kTensors[] = {
      {"Q", &Request::q}, {"K", &Request::k}, {"V", &Request::v}};
  static constexpr Parameter<Request> kLse[] = {{"lse", &Request::lse}};
  static constexpr Parameter<Request> kRest[] = {{"causal", &Request::causal},
                                                 {"softmax_scale", &Request::scale}};
  constexpr const char* kName = "flash_attention_forward";
  static const Signature<Request> with_lse(kName, 3, {kTensors, kLse, kRest});
  static const Signature<Request> without_lse(kName, 3, {kTensors, kRest});
  const auto& signature = nargs > 3 && is_flag(args[3]) ? without_lse : with_lse;
  Request request;
  request.scale_name = "softmax_scale";
  return signature.parse(args, nargs, kwnames, request) ? run_forward(request) : nullptr;
}

PyObject* record_call(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject*) {
  if (nargs != 5 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2])) {
    fail(PyExc_TypeError, "record(apply, inputs, saved, options, result): inputs and saved are tuples");
    return nullptr;
  }
  return record(args[0], args[1], {.saved = args[2], .options = args[3], .result = args[4]});
}

PyObject* set_threads(PyObject*, PyObject* count) {
  if (!set_num_threads(count)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

PyMethodDef method(const char* name, FastCall function, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

int fill_module(PyObject* module) {
  if (!read_num_threads_of_environment()) return -1;
  if (PyModule_AddStringConstant(module, "__version__", FLASHMOE_VERSION) < 0) return -1;
  return PyModule_AddStringConstant(module, "library_version", flashmoe_version());
}

}  // namespace
}  // namespace flashmoe_python

PyMODINIT_FUNC PyInit__C(void) {
  using namespace flashmoe_python;
  static PyMethodDef methods[] = {
      method("attention", attention, kAttentionDoc),
      method("attention_backward", attention_backward, kAttentionBackwardDoc),
      method("attention_varlen", attention_varlen, kVarlenDoc),
      method("attention_varlen_backward", attention_varlen_backward, kVarlenBackwardDoc),
      method("compute_attention", compute_attention,
             "attention() and attention_varlen(), whatever PyTorch records or watches: what its operators "
             "call."),
      method("explain", explain, kExplainDoc),
      method("flash_attention_forward", flash_attention_forward, kFlashAttentionForwardDoc),
      method("record", record_call,
             "record(apply, inputs, saved, options, result): a computed call, as autograd keeps it."),
      {"keep_for_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(keep_for_backward)),
       METH_FASTCALL, "forward(ctx, *inputs) of what record() records."},
      {"set_num_threads", set_threads, METH_O, kSetNumThreadsDoc},
      {"get_num_threads", get_threads, METH_NOARGS, kGetNumThreadsDoc},
      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill_module)}, {0, nullptr}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "flashmoe_science._C",
                                   "Exact attention for NumPy arrays and PyTorch tensors: the native part.",
                                   0,
                                   methods,
                                   slots,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  return PyModuleDef_Init(&definition);
}
