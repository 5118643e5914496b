// SPDX-License-Identifier: MIT
#include "torch_tensor.h"

#include <algorithm>

#include "dlpack.h"
#include "torch_api.h"

namespace flashmoe_python {
namespace {

bool read_dtype(TensorView& view) {
  static PyObject* const name = interned("dtype");
  const Ref dtype = attribute(view.object, name);
  if (!dtype) return false;
  if (view.form.elements == Elements::int32)
    return dtype.get() == torch()->int32 || refuse_dtype(view, dtype.get());
  if (view.form.elements == Elements::floats_or_bool && dtype.get() == torch()->boolean) {
    view.tensor.dtype = FLASHMOE_BOOLEAN;
    return true;
  }
  const auto& known = torch()->dtypes;
  const auto at = std::ranges::find(known, dtype.get());
  if (at == known.end()) return refuse_dtype(view, dtype.get());
  view.tensor.dtype = static_cast<int32_t>(at - known.begin());
  return true;
}

bool read_device(TensorView& view) {
  const Ref device(PyObject_GetAttrString(view.object, "device"));
  const Ref type(device ? PyObject_GetAttrString(device.get(), "type") : nullptr);
  if (!type) return false;
  view.device = FLASHMOE_DEVICE_CPU;
  view.device_index = 0;
  if (PyUnicode_CompareWithASCIIString(type.get(), "cpu") == 0) return true;
  if (PyUnicode_CompareWithASCIIString(type.get(), "cuda") != 0) {
    return fail(PyExc_NotImplementedError, "attention: %s is on device %S; accepted are cpu and cuda",
                view.name, device.get());
  }
  const Ref index(PyObject_GetAttrString(device.get(), "index"));
  view.device = FLASHMOE_DEVICE_CUDA;
  view.device_index = index ? static_cast<int32_t>(PyLong_AsLong(index.get())) : -1;
  return !PyErr_Occurred();
}

bool copy_integers(PyObject* tuple, int count, int64_t* to) {
  for (int i = 0; i < count; ++i) {
    to[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));  // symbolic sizes are no integers, and fail here
    if (to[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

bool read_strides(TensorView& view) {
  static PyObject* const name = interned("stride");
  const Ref strides = call_method(view.object, name);  // raises for sparse and other layouts
  return strides && copy_integers(strides.get(), view.form.rank, view.tensor.strides);
}

bool is_true(PyObject* object, const char* name) {
  const Ref value(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value.get() == Py_True;
}

// One block of memory, and a stride for each dimension.
bool check_strided(const TensorView& view) {
  if (is_true(view.object, "is_nested")) {
    return fail(PyExc_TypeError,
                "attention: %s is a nested tensor; accepted are dense ones\n  try: "
                "torch.nested.to_padded_tensor, or one call for each of its parts",
                view.name);
  }
  const Ref layout(PyObject_GetAttrString(view.object, "layout"));
  if (!layout) return false;
  if (layout.get() == torch()->strided) return true;
  return fail(PyExc_TypeError,
              "attention: %s has layout %S; accepted are dense tensors\n  try: %s.to_dense()", view.name,
              layout.get(), view.name);
}

// Everything by its own attribute: what every release has, and what says best why a tensor is refused.
bool read_attributes(TensorView& view) {
  static PyObject* const shape_name = interned("shape");
  if (!check_strided(view) || !read_device(view) || !read_dtype(view)) return false;
  const Ref shape = attribute(view.object, shape_name);
  if (!shape || !PyTuple_Check(shape.get())) return shape && fail(PyExc_TypeError, "attention: no shape");
  return check_rank(view, PyTuple_GET_SIZE(shape.get())) &&
         copy_integers(shape.get(), view.form.rank, view.tensor.sizes) && read_strides(view) &&
         torch_data_pointer(view.object, view.tensor.data);
}

// Everything by one call, at a tenth of the cost. False, and no exception, where this can't be done.
bool read_exchange(TensorView& view) {
  const dlpack::ExchangeApi* exchange = torch()->exchange;
  if (exchange == nullptr) return false;
  dlpack::Tensor tensor;
  if (exchange->read(view.object, &tensor) == 0) return fill_from(tensor, view);
  PyErr_Clear();
  return false;
}

// DLPack knows of no views that negate when they are read.
bool check_plain(const TensorView& view) {
  const Ref negated = torch()->is_neg(view.object);
  if (negated.get() == Py_False) return true;
  return negated && fail(PyExc_ValueError, "attention: %s is a lazily negated view\n  try: %s.resolve_neg()",
                         view.name, view.name);
}

}  // namespace

bool is_torch_tensor(PyObject* object) {
  const Torch* api = torch();
  return api != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(api->tensor));
}

bool read_torch(TensorView& view) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(view.object));
  if (type != torch()->tensor && type != torch()->parameter) {
    return check_strided(view) && fail(PyExc_TypeError,
                                       "attention: %s is a %s, a subclass of torch.Tensor that may mean more "
                                       "than its memory says\n  try: "
                                       "%s.as_subclass(torch.Tensor), if its plain values are what you want",
                                       view.name, Py_TYPE(view.object)->tp_name, view.name);
  }
  view.library = Library::torch;
  return (read_exchange(view) || read_attributes(view)) && check_plain(view);
}

bool read_new_torch(PyObject* tensor, TensorView& view) {
  view.object = tensor;
  view.library = Library::torch;
  return read_exchange(view) || read_attributes(view);
}

bool torch_data_pointer(PyObject* tensor, void*& pointer) {
  const Ref address = torch()->data_ptr(tensor);
  if (!address) return false;
  pointer = PyLong_AsVoidPtr(address.get());
  return pointer != nullptr || !PyErr_Occurred();
}

int wants_grad(const TensorView& view) {
  if (view.library != Library::torch) return 0;
  const Ref wanted = torch()->requires_grad(view.object);
  if (!wanted) return -1;
  if (wanted.get() == Py_False) return 0;
  const Ref enabled = torch()->is_grad_enabled();
  return enabled ? enabled.get() != Py_False : -1;
}

bool check_no_grad(const TensorView& view) {
  const int wants = wants_grad(view);
  if (wants <= 0) return wants == 0;
  return fail(PyExc_NotImplementedError,
              "attention: %s requires grad, and is written in place\n  try: %s.detach(), or call under "
              "torch.no_grad()",
              view.name, view.name);
}

}  // namespace flashmoe_python
