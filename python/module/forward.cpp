// SPDX-License-Identifier: MIT
#include "forward.h"

#include <algorithm>
#include <string>

#include "arguments.h"
#include "flashmoe/flashmoe.h"
#include "numpy_array.h"
#include "tensor_view.h"
#include "torch_tensor.h"
#include "workspace.h"

namespace flashmoe_python {
namespace {

struct Call {
  TensorView q, k, v, out, lse;
  CudaDeviceScope device;
  float scale = 0;
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
  if (!read_mask(request.causal, call.args.mask) ||
      !read_scale(request.scale, request.scale_name, call.scale, has_scale) ||
      !read_count(request.threads, "threads", call.args.threads)) {
    return false;
  }
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

// Shapes are judged before an output is allocated: with a made-up dense `out`, so that only the inputs can
// fail.
bool check_problem(Call& call, std::size_t& workspace_bytes) {
  call.args.out = call.args.q;
  const int64_t* size = call.args.q.sizes;
  const int64_t dense[] = {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1};
  std::copy_n(dense, 4, call.args.out.strides);
  const flashmoe_status status = flashmoe_forward_workspace_bytes(&call.args, &workspace_bytes);
  return status == FLASHMOE_OK || raise(status);
}

// A new tensor of q's library; `what` is the argument that stands in for one where that library is unknown.
template <class FromNumpy, class FromTorch>
Ref allocate(const TensorView& q, FromNumpy from_numpy, FromTorch from_torch, const char* what) {
  if (q.library == Library::numpy) return from_numpy(q);
  if (q.library == Library::torch) return from_torch(q);
  fail(PyExc_TypeError,
       "attention: can't allocate a result like q, a %s known through DLPack only\n  try: give %s",
       Py_TYPE(q.object)->tp_name, what);
  return {};
}

bool read_output(PyObject* object, bool is_new, Call& call) {
  if (is_new && call.q.library == Library::torch) {
    if (!read_torch_output(object, call.q, call.out)) return false;
  } else if (!read_tensor(object, "out", 4, call.out) || !check_same_device(call.out, call.q) ||
             !check_writable(call.out) || !check_no_grad(call.out)) {
    return false;
  }
  call.args.out = call.out.tensor;
  return true;
}

bool read_lse(PyObject* object, Call& call) {
  TensorView& lse = call.lse;
  if (!read_tensor(object, "lse", 3, lse) || !check_same_device(lse, call.q) || !check_writable(lse) ||
      !check_no_grad(lse)) {
    return false;
  }
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

bool compute_on_host(const Call& call, std::size_t workspace_bytes) {
  flashmoe_status status = FLASHMOE_OK;
  bool has_memory = true;
  Py_BEGIN_ALLOW_THREADS;
  ThreadWorkspace& workspace = ThreadWorkspace::of_this_thread();
  void* memory = workspace.reserve(workspace_bytes);
  has_memory = memory != nullptr || workspace_bytes == 0;
  if (has_memory) status = flashmoe_attention_forward(&call.args, memory, workspace_bytes);
  workspace.trim();
  Py_END_ALLOW_THREADS;
  if (!has_memory) {
    return fail(PyExc_MemoryError, "attention: no memory for a workspace of %zu bytes", workspace_bytes);
  }
  return status == FLASHMOE_OK || raise(status);
}

bool compute_on_cuda(const Call& call, std::size_t workspace_bytes) {
  if (call.q.library != Library::torch) {
    return fail(PyExc_NotImplementedError, "attention: CUDA memory is accepted from PyTorch only; q is a %s",
                Py_TYPE(call.q.object)->tp_name);
  }
  Ref scratch;  // may be let go at once: PyTorch reuses the block in stream order
  void* memory = nullptr;
  if (workspace_bytes > 0) {
    scratch = torch_scratch(call.q, workspace_bytes);
    if (!scratch || !torch_data_pointer(scratch.get(), memory)) return false;
  }
  flashmoe_status status = FLASHMOE_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = flashmoe_attention_forward(&call.args, memory, workspace_bytes);
  Py_END_ALLOW_THREADS;
  return status == FLASHMOE_OK || raise(status);
}

}  // namespace

PyObject* run_forward(const ForwardRequest& request) {
  Call call;
  std::size_t workspace_bytes = 0;
  if (!read_inputs(request, call) || !check_problem(call, workspace_bytes)) return nullptr;

  Ref out =
      given(request.out) ? Ref::borrow(request.out) : allocate(call.q, numpy_output, torch_output, "out");
  if (!out || !read_output(out.get(), !given(request.out), call)) return nullptr;
  Ref lse;
  if (given(request.lse))
    lse = Ref::borrow(request.lse);
  else if (request.return_lse && !(lse = allocate(call.q, numpy_lse, torch_lse, "lse")))
    return nullptr;
  if (lse && !read_lse(lse.get(), call)) return nullptr;

  const bool done = call.args.device == FLASHMOE_DEVICE_CPU ? compute_on_host(call, workspace_bytes)
                                                            : compute_on_cuda(call, workspace_bytes);
  if (!done) return nullptr;
  return request.return_lse ? PyTuple_Pack(2, out.get(), lse.get()) : out.release();
}

PyObject* explain_forward(const ForwardRequest& request) {
  Call call;
  std::size_t bytes = 0;
  if (!read_inputs(request, call) || !check_problem(call, bytes)) return nullptr;
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
