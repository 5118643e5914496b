// SPDX-License-Identifier: MIT
#include "numpy_array.h"

#include "buffer.h"

namespace flashmoe_python {
namespace {

struct NumPy {
  PyObject *ndarray, *memmap, *empty, *empty_like, *float32, *uint16;
};

// Null until the program has imported NumPy.
const NumPy* numpy() {
  static NumPy api;
  static bool known = false;
  if (known) return &api;
  const Ref module = imported_module("numpy");
  if (!module) return nullptr;
  const auto get = [&](const char* name) { return PyObject_GetAttrString(module.get(), name); };
  api = {get("ndarray"), get("memmap"), get("empty"), get("empty_like"), get("float32"), get("uint16")};
  known = api.ndarray && api.memmap && api.empty && api.empty_like && api.float32 && api.uint16;
  PyErr_Clear();  // half imported: not known yet
  return known ? &api : nullptr;
}

bool is_bfloat16(PyObject* dtype) {
  static PyObject* const name = interned("name");
  const Ref text = attribute(dtype, name);
  if (!text) PyErr_Clear();
  return text && PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), "bfloat16") == 0;
}

// NumPy can't export bfloat16, a type that ml_dtypes adds; its bits as integers it can.
bool export_bfloat16(TensorView& view) {
  static PyObject* const view_name = interned("view");
  PyObject* args[] = {view.object, numpy()->uint16};
  view.keep = Ref(PyObject_VectorcallMethod(view_name, args, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  view.tensor.dtype = FLASHMOE_BF16;
  return view.keep && export_buffer(view.keep.get(), view);
}

bool read_elements(TensorView& view) {
  static PyObject* const dtype_name = interned("dtype");
  if (export_buffer(view.object, view)) {
    if (fill_dtype(view)) return true;
    const Ref dtype = attribute(view.object, dtype_name);
    return dtype && refuse_dtype(view, dtype.get());
  }
  PyErr_Clear();
  const Ref dtype = attribute(view.object, dtype_name);
  if (!dtype) return false;
  return is_bfloat16(dtype.get()) ? export_bfloat16(view) : refuse_dtype(view, dtype.get());
}

}  // namespace

bool is_numpy_array(PyObject* object) {
  const NumPy* np = numpy();
  return np != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(np->ndarray));
}

bool read_numpy(TensorView& view) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(view.object));
  if (type != numpy()->ndarray && type != numpy()->memmap) {
    return fail(
        PyExc_TypeError,
        "attention: %s is a %s, a subclass of numpy.ndarray that may mean more than its memory says\n  try: "
        "numpy.asarray(%s), if its plain values are what you want",
        view.name, Py_TYPE(view.object)->tp_name, view.name);
  }
  view.library = Library::numpy;
  return read_elements(view) && fill_layout(view);
}

Ref numpy_output(const TensorView& q) {
  bool repeats = false;  // empty_like would put a dimension of stride 0 innermost
  for (int i = 0; i < q.form.rank; ++i) repeats |= q.tensor.strides[i] == 0 && q.tensor.sizes[i] > 1;
  if (!repeats) {
    static PyObject* const keywords = Py_BuildValue("(s)", "subok");
    PyObject* args[] = {q.object, Py_False};
    return Ref(PyObject_Vectorcall(numpy()->empty_like, args, 1, keywords));
  }
  const Ref shape = tuple_of({q.tensor.sizes, static_cast<std::size_t>(q.form.rank)});
  const Ref dtype(PyObject_GetAttrString(q.object, "dtype"));
  if (!shape || !dtype) return {};
  return Ref(PyObject_CallFunctionObjArgs(numpy()->empty, shape.get(), dtype.get(), nullptr));
}

Ref numpy_rows(const TensorView&, std::span<const int64_t> sizes) {
  const Ref shape = tuple_of(sizes);
  if (!shape) return {};
  return Ref(PyObject_CallFunctionObjArgs(numpy()->empty, shape.get(), numpy()->float32, nullptr));
}

}  // namespace flashmoe_python
