// SPDX-License-Identifier: MIT
#include "forward.h"

#include <algorithm>
#include <string>

#include "arguments.h"
#include "flashmoe/flashmoe.h"
#include "numpy_array.h"
#include "tensor_view.h"
#include "torch_cuda.h"
#include "torch_output.h"
#include "torch_tensor.h"
#include "workspace.h"

namespace flashmoe_python {
namespace {

struct Call {
  TensorView q, k, v, out, lse;
  CudaDeviceScope device;
  float scale = 0;
  bool return_lse = false;
  flashmoe_forward_args args{};
};

bool given(PyObject* object) { return object != nullptr && object != Py_None; }

// The library's own message, as the exception that fits its status.
bool raise(flashmoe_status status) {
  PyObject* exception = status == FLASHMOE_INVALID_ARGUMENT ? PyExc_ValueError
                        : status == FLASHMOE_UNSUPPORTED    ? PyExc_NotImplementedError
                                                            : PyExc_RuntimeError;
  PyErr_SetString(exception, flashmoe_last_error());
  return false;
}

const char* name_of_device(int32_t device) { return device == FLASHMOE_DEVICE_CPU ? "cpu" : "cuda"; }

bool check_same_device(const TensorView& view, const TensorView& q) {
  if (view.device == q.device && view.device_index == q.device_index) return true;
  return fail(PyExc_ValueError,
              "attention: %s is on %s:%d but q is on %s:%d; all tensors must be on one device", view.name,
              name_of_device(view.device), view.device_index, name_of_device(q.device), q.device_index);
}

bool check_writable(const TensorView& view) {
  if (view.writable) return true;
  if (view.library == Library::dlpack) {
    return fail(PyExc_ValueError, "attention: %s does not say through DLPack 1.0 that it may be written",
                view.name);
  }
  return fail(PyExc_ValueError,
              "attention: %s is read-only\n  try: %s.copy(), or leave it out to get a new one", view.name,
              view.name);
}

bool read_options(const ForwardRequest& request, Call& call) {
  bool has_scale = false;
  bool programmatic = false;
  if (!read_mask(request.causal, call.args.mask) ||
      !read_scale(request.scale, request.scale_name, call.scale, has_scale) ||
      !read_flag(request.return_lse, "return_lse", call.return_lse) ||
      !read_count(request.threads, "threads", call.args.threads) ||
      !read_flag(request.programmatic, "programmatic", programmatic)) {
    return false;
  }
  call.args.programmatic_launch = programmatic ? 1 : 0;
  call.args.scale = has_scale ? &call.scale : nullptr;
  return true;
}

bool read_inputs(const ForwardRequest& request, Call& call) {
  call.args.struct_size = sizeof call.args;
  if (!read_options(request, call) || !read_tensor(request.q, "q", 4, call.q) ||
      !read_tensor(request.k, "k", 4, call.k) || !read_tensor(request.v, "v", 4, call.v)) {
    return false;
  }
  if (!check_same_device(call.k, call.q) || !check_same_device(call.v, call.q)) return false;
  if (!check_no_grad(call.q) || !check_no_grad(call.k) || !check_no_grad(call.v)) return false;
  call.args.q = call.q.tensor;
  call.args.k = call.k.tensor;
  call.args.v = call.v.tensor;
  call.args.device = call.q.device;
  if (call.q.device == FLASHMOE_DEVICE_CUDA && call.q.library == Library::torch) {
    return call.device.enter(call.q.device_index) &&
           torch_current_stream(call.q.device_index, call.args.stream);
  }
  return true;  // DLPack on CUDA: producers order their work before the default stream, which is null
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

// A new tensor of q's library; `what` is the argument that stands in for one where that library is unknown.
template <class FromNumpy, class FromTorch>
Ref allocate(const TensorView& q, FromNumpy from_numpy, FromTorch from_torch, const char* what) {
  if (q.library == Library::numpy) return from_numpy(q);
  if (q.library == Library::torch) return from_torch(q);
  fail(PyExc_TypeError,
       "attention: can't allocate a result like q, a %s: neither a NumPy array nor a PyTorch tensor\n  try: "
       "give %s",
       Py_TYPE(q.object)->tp_name, what);
  return {};
}

// The caller's tensor, or a new one.
Ref output(PyObject* wanted, Call& call) {
  if (given(wanted)) return Ref::borrow(wanted);
  Ref out = allocate(call.q, numpy_output, torch_output, "out");
  if (out) return out;
  // No memory, say, for a result like q; if q can't be right to begin with, that is what to say.
  PendingException not_allocated;
  if (!check_problem(call)) not_allocated.drop();
  return {};
}

// A tensor to be written to; `is_new` if it was made here.
bool read_target(PyObject* object, const char* name, int rank, bool is_new, Call& call, TensorView& view) {
  if (is_new) {
    return call.q.library == Library::torch ? read_new_torch(object, name, rank, view)
                                            : read_tensor(object, name, rank, view);
  }
  return read_tensor(object, name, rank, view) && check_same_device(view, call.q) && check_writable(view) &&
         check_no_grad(view);
}

bool read_output(PyObject* object, bool is_new, Call& call) {
  if (!read_target(object, "out", 4, is_new, call, call.out)) return false;
  call.args.out = call.out.tensor;
  return true;
}

bool read_lse(PyObject* object, bool is_new, Call& call) {
  TensorView& lse = call.lse;
  if (!read_target(object, "lse", 3, is_new, call, lse)) return false;
  if (lse.tensor.dtype != FLASHMOE_FP32) return fail(PyExc_TypeError, "attention: lse must be float32");
  const int64_t* size = lse.tensor.sizes;
  const int64_t* expected = call.args.q.sizes;
  if (!std::equal(size, size + 3, expected)) {
    return fail(PyExc_ValueError,
                "attention: lse has shape [%lld, %lld, %lld]; it must be [%lld, %lld, %lld], as q",
                static_cast<long long>(size[0]), static_cast<long long>(size[1]),
                static_cast<long long>(size[2]), static_cast<long long>(expected[0]),
                static_cast<long long>(expected[1]), static_cast<long long>(expected[2]));
  }
  int64_t dense_stride = 1;
  for (int i = 2; i >= 0; --i) {
    if (size[i] > 1 && lse.tensor.strides[i] != dense_stride) {
      return fail(PyExc_ValueError,
                  "attention: lse has stride %lld in dimension %d; it must be contiguous (%lld)",
                  static_cast<long long>(lse.tensor.strides[i]), i, static_cast<long long>(dense_stride));
    }
    dense_stride *= size[i];
  }
  call.args.lse = static_cast<float*>(lse.tensor.data);
  return true;
}

// Where the library's workspace comes from during a call, which does not hold the GIL.
struct Scratch {
  const Call& call;
  PyThreadState* thread = nullptr;  // to take the GIL with
  Ref tensor{};                     // CUDA: may be let go at once: PyTorch reuses the block in stream order
  bool failed = false;
};

void* host_scratch(void* context, std::size_t bytes) {
  void* memory = ThreadWorkspace::of_this_thread().reserve(bytes);
  static_cast<Scratch*>(context)->failed = memory == nullptr;
  return memory;
}

void* cuda_scratch(void* context, std::size_t bytes) {
  auto& scratch = *static_cast<Scratch*>(context);
  void* memory = nullptr;
  PyEval_RestoreThread(scratch.thread);
  scratch.tensor = torch_scratch(scratch.call.q, bytes);
  scratch.failed = !scratch.tensor || !torch_data_pointer(scratch.tensor.get(), memory);
  scratch.thread = PyEval_SaveThread();
  return memory;
}

bool compute(const Call& call) {
  const bool on_host = call.args.device == FLASHMOE_DEVICE_CPU;
  if (!on_host && call.q.library != Library::torch) {
    return fail(PyExc_NotImplementedError, "attention: CUDA memory is accepted from PyTorch only; q is a %s",
                Py_TYPE(call.q.object)->tp_name);
  }
  Scratch scratch{.call = call};
  scratch.thread = PyEval_SaveThread();
  const flashmoe_status status =
      flashmoe_attention_forward_with(&call.args, on_host ? host_scratch : cuda_scratch, &scratch);
  if (on_host) ThreadWorkspace::of_this_thread().trim();
  PyEval_RestoreThread(scratch.thread);
  if (status == FLASHMOE_OK) return true;
  if (!scratch.failed) return raise(status);
  return PyErr_Occurred() == nullptr && fail(PyExc_MemoryError, "%s", flashmoe_last_error());
}

}  // namespace

PyObject* run_forward(const ForwardRequest& request) {
  Call call;
  if (!read_inputs(request, call)) return nullptr;
  Ref out = output(request.out, call);
  if (!out || !read_output(out.get(), !given(request.out), call)) return nullptr;
  Ref lse;
  if (given(request.lse))
    lse = Ref::borrow(request.lse);
  else if (call.return_lse && !(lse = allocate(call.q, numpy_lse, torch_lse, "lse")))
    return nullptr;
  if (lse && !read_lse(lse.get(), !given(request.lse), call)) return nullptr;

  if (!compute(call)) return nullptr;
  return call.return_lse ? PyTuple_Pack(2, out.get(), lse.get()) : out.release();
}

PyObject* explain_forward(const ForwardRequest& request) {
  Call call;
  if (!read_inputs(request, call) || !check_problem(call)) return nullptr;
  std::size_t needed = 0;
  flashmoe_status status = flashmoe_explain_forward(&call.args, nullptr, 0, &needed);
  std::string text(needed, '\0');
  if (status == FLASHMOE_OK) status = flashmoe_explain_forward(&call.args, text.data(), text.size(), nullptr);
  if (status != FLASHMOE_OK) {
    raise(status);
    return nullptr;
  }
  return PyUnicode_FromString(text.c_str());
}

}  // namespace flashmoe_python
