// SPDX-License-Identifier: MIT
#include "tensor_view.h"

#include <algorithm>

#include "buffer.h"
#include "dlpack.h"
#include "numpy_array.h"
#include "torch_tensor.h"

namespace flashmoe_python {

flashmoe_tensor TensorView::of_batch() const {
  flashmoe_tensor t = tensor;
  if (form.dimensions != kPacked.dimensions) return t;
  const int64_t sizes[] = {1, tensor.sizes[1], tensor.sizes[0], tensor.sizes[2]};
  const int64_t strides[] = {0, tensor.strides[1], tensor.strides[0], tensor.strides[2]};
  std::copy_n(sizes, 4, t.sizes);
  std::copy_n(strides, 4, t.strides);
  return t;
}

bool check_rank(const TensorView& view, Py_ssize_t dimensions) {
  if (dimensions == view.form.rank) return true;
  return fail(PyExc_ValueError, "attention: %s has %zd dimensions; it must have %d: %s", view.name,
              dimensions, view.form.rank, view.form.dimensions);
}

bool refuse_dtype(const TensorView& view, PyObject* dtype) {
  if (view.form.elements == Elements::int32) {
    return fail(PyExc_TypeError, "attention: %s is %S; it must be int32\n  try: convert it to int32",
                view.name, dtype);
  }
  if (view.form.elements == Elements::floats_or_bool) {
    return fail(PyExc_TypeError,
                "attention: %s is %S; accepted are bool, float32, float16 and bfloat16\n  try: convert it to "
                "bool (True where a key is seen), or to float32",
                view.name, dtype);
  }
  return fail(
      PyExc_TypeError,
      "attention: %s is %S; accepted are float32, float16 and bfloat16\n  try: convert q, k and v to one of "
      "these",
      view.name, dtype);
}

bool read_tensor(PyObject* object, const char* name, const Form& form, TensorView& view) {
  view.object = object;
  view.name = name;
  view.form = form;
  if (is_torch_tensor(object)) return read_torch(view);
  if (is_numpy_array(object)) return read_numpy(view);
  if (has_dlpack(object)) return read_dlpack(view);
  if (has_buffer(object)) return read_buffer(view);
  return fail(
      PyExc_TypeError,
      "attention: %s is a %s; accepted are NumPy arrays, PyTorch tensors, and objects with __dlpack__ "
      "or the buffer protocol",
      name, Py_TYPE(object)->tp_name);
}

}  // namespace flashmoe_python
