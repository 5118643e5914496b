// SPDX-License-Identifier: MIT
#include "record.h"

namespace flashmoe_python {
namespace {

// From record() to the forward() that it leads to, past autograd: which looks at every argument, and longer
// at those that are no tensors.
thread_local const Recording* in_hand = nullptr;

}  // namespace

PyObject* record(PyObject* apply, PyObject* inputs, const Recording& recording) {
  const Recording* const outer = std::exchange(in_hand, &recording);  // of a finalizer that records, say
  PyObject* result = PyObject_Call(apply, inputs, nullptr);
  in_hand = outer;
  return result;
}

PyObject* keep_for_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  static PyObject* const to_save = interned("to_save");  // what save_for_backward() sets
  static PyObject* const options = interned("options");
  static PyObject* const materialize_grads = interned("materialize_grads");
  if (in_hand == nullptr || count < 1) {
    fail(PyExc_RuntimeError, "keep_for_backward: nothing is being recorded");
    return nullptr;
  }
  PyObject* ctx = args[0];
  if (PyObject_SetAttr(ctx, to_save, in_hand->saved) < 0 ||
      PyObject_SetAttr(ctx, options, in_hand->options) < 0)
    return nullptr;
  if (PyTuple_Check(in_hand->result) && PyObject_SetAttr(ctx, materialize_grads, Py_False) < 0)
    return nullptr;
  return Ref::borrow(in_hand->result).release();
}

}  // namespace flashmoe_python
