// SPDX-License-Identifier: MIT
#include "results.h"

#include <algorithm>

#include "numpy_array.h"
#include "torch_output.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

const char* name_of_device(int32_t device) { return device == FLASHMOE_DEVICE_CPU ? "cpu" : "cuda"; }

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

template <class FromNumpy, class FromTorch>
Ref allocate(const TensorView& like, FromNumpy from_numpy, FromTorch from_torch, const char* name) {
  if (like.library == Library::numpy) return from_numpy(like);
  if (like.library == Library::torch) return from_torch(like);
  fail(PyExc_TypeError,
       "attention: can't allocate a result like %s, a %s: neither a NumPy array nor a PyTorch tensor\n  try: "
       "give %s",
       like.name, Py_TYPE(like.object)->tp_name, name);
  return {};
}

}  // namespace

bool given(PyObject* object) { return object != nullptr && object != Py_None; }

Ref new_like(const TensorView& like, const char* name) {
  return allocate(like, numpy_output, torch_output, name);
}

Ref new_lse(const TensorView& q) { return allocate(q, numpy_lse, torch_lse, "lse"); }

bool check_same_device(const TensorView& view, const TensorView& q) {
  if (view.device == q.device && view.device_index == q.device_index) return true;
  return fail(PyExc_ValueError,
              "attention: %s is on %s:%d but q is on %s:%d; all tensors must be on one device", view.name,
              name_of_device(view.device), view.device_index, name_of_device(q.device), q.device_index);
}

bool read_target(PyObject* object, const char* name, int rank, bool is_new, const TensorView& like,
                 TensorView& view) {
  if (is_new) {
    return like.library == Library::torch ? read_new_torch(object, name, rank, view)
                                          : read_tensor(object, name, rank, view);
  }
  return read_tensor(object, name, rank, view) && check_same_device(view, like) && check_writable(view) &&
         check_no_grad(view);
}

bool check_rows(const TensorView& view, const TensorView& q) {
  if (view.tensor.dtype != FLASHMOE_FP32)
    return fail(PyExc_TypeError, "attention: %s must be float32", view.name);
  const int64_t* size = view.tensor.sizes;
  const int64_t* expected = q.tensor.sizes;
  if (!std::equal(size, size + 3, expected)) {
    return fail(PyExc_ValueError,
                "attention: %s has shape [%lld, %lld, %lld]; it must be [%lld, %lld, %lld], as q", view.name,
                static_cast<long long>(size[0]), static_cast<long long>(size[1]),
                static_cast<long long>(size[2]), static_cast<long long>(expected[0]),
                static_cast<long long>(expected[1]), static_cast<long long>(expected[2]));
  }
  int64_t dense_stride = 1;
  for (int i = 2; i >= 0; --i) {
    if (size[i] > 1 && view.tensor.strides[i] != dense_stride && dense_stride != 0) {
      return fail(PyExc_ValueError,
                  "attention: %s has stride %lld in dimension %d; it must be contiguous (%lld)", view.name,
                  static_cast<long long>(view.tensor.strides[i]), i, static_cast<long long>(dense_stride));
    }
    dense_stride *= size[i];
  }
  return true;
}

}  // namespace flashmoe_python
