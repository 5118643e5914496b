// SPDX-License-Identifier: MIT
#include "tensor_view.h"

#include "buffer.h"
#include "dlpack.h"
#include "numpy_array.h"
#include "torch_tensor.h"

namespace flashmoe_python {

bool check_rank(const TensorView& view, Py_ssize_t dimensions, int rank) {
  if (dimensions == rank) return true;
  return fail(PyExc_ValueError, "attention: %s has %zd dimensions; it must have %d: %s", view.name,
              dimensions, rank, rank == 4 ? "[batch, heads, rows, head_dim]" : "[batch, heads, rows]");
}

bool refuse_dtype(const TensorView& view, PyObject* dtype) {
  return fail(
      PyExc_TypeError,
      "attention: %s is %S; accepted are float32, float16 and bfloat16\n  try: convert q, k and v to one of "
      "these",
      view.name, dtype);
}

bool read_tensor(PyObject* object, const char* name, int rank, TensorView& view) {
  view.object = object;
  view.name = name;
  view.rank = rank;
  if (is_torch_tensor(object)) return read_torch(rank, view);
  if (is_numpy_array(object)) return read_numpy(rank, view);
  if (has_dlpack(object)) return read_dlpack(rank, view);
  if (has_buffer(object)) return read_buffer(rank, view);
  return fail(
      PyExc_TypeError,
      "attention: %s is a %s; accepted are NumPy arrays, PyTorch tensors, and objects with __dlpack__ "
      "or the buffer protocol",
      name, Py_TYPE(object)->tp_name);
}

}  // namespace flashmoe_python
