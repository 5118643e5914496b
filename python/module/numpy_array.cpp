// SPDX-License-Identifier: MIT
#include "numpy_array.h"

#include <cstring>

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

// The element type that a buffer's format names; false for all that is not a native float32 or float16.
bool dtype_of(const Py_buffer& buffer, int32_t& dtype) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  if (*format == '@' || *format == '=' || *format == (PY_LITTLE_ENDIAN ? '<' : '>')) ++format;
  if (std::strcmp(format, "f") == 0)
    dtype = FLASHMOE_FP32;
  else if (std::strcmp(format, "e") == 0)
    dtype = FLASHMOE_FP16;
  else
    return false;
  return true;
}

bool is_bfloat16(PyObject* dtype) {
  static PyObject* const name = interned("name");
  const Ref text = attribute(dtype, name);
  if (!text) PyErr_Clear();
  return text && PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), "bfloat16") == 0;
}

bool export_buffer(PyObject* array, Py_buffer& buffer) {
  return PyObject_GetBuffer(array, &buffer, PyBUF_STRIDES | PyBUF_FORMAT) == 0;
}

// NumPy can't export bfloat16, a type that ml_dtypes adds; its bits as integers it can.
bool export_bfloat16(TensorView& view) {
  static PyObject* const view_name = interned("view");
  PyObject* args[] = {view.object, numpy()->uint16};
  view.keep = Ref(PyObject_VectorcallMethod(view_name, args, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  view.tensor.dtype = FLASHMOE_BF16;
  return view.keep && export_buffer(view.keep.get(), view.buffer);
}

bool read_elements(TensorView& view) {
  static PyObject* const dtype_name = interned("dtype");
  if (export_buffer(view.object, view.buffer)) {
    if (dtype_of(view.buffer, view.tensor.dtype)) return true;
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

bool read_numpy(int rank, TensorView& view) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(view.object));
  if (type != numpy()->ndarray && type != numpy()->memmap) {
    return fail(
        PyExc_TypeError,
        "attention: %s is a %s, a subclass of numpy.ndarray that may mean more than its memory says\n  try: "
        "numpy.asarray(%s), if its plain values are what you want",
        view.name, Py_TYPE(view.object)->tp_name, view.name);
  }
  view.library = Library::numpy;
  if (!read_elements(view)) return false;
  const Py_buffer& buffer = view.buffer;
  if (!check_rank(view, buffer.ndim, rank)) return false;
  view.writable = buffer.readonly == 0;
  view.tensor.data = buffer.buf;
  for (int i = 0; i < rank; ++i) {
    view.tensor.sizes[i] = buffer.shape[i];
    if (buffer.strides[i] % buffer.itemsize != 0 && buffer.shape[i] > 1) {
      return fail(
          PyExc_ValueError,
          "attention: %s has a stride of %zd bytes in dimension %d; it must be a multiple of its %zd-byte "
          "elements\n  try: numpy.ascontiguousarray(%s)",
          view.name, buffer.strides[i], i, buffer.itemsize, view.name);
    }
    view.tensor.strides[i] = buffer.strides[i] / buffer.itemsize;
  }
  return true;
}

Ref numpy_output(const TensorView& q) {
  bool repeats = false;  // empty_like would put a dimension of stride 0 innermost
  for (int i = 0; i < 4; ++i) repeats |= q.tensor.strides[i] == 0 && q.tensor.sizes[i] > 1;
  if (!repeats) {
    static PyObject* const keywords = Py_BuildValue("(s)", "subok");
    PyObject* args[] = {q.object, Py_False};
    return Ref(PyObject_Vectorcall(numpy()->empty_like, args, 1, keywords));
  }
  const int64_t* size = q.tensor.sizes;
  const Ref dtype(PyObject_GetAttrString(q.object, "dtype"));
  if (!dtype) return {};
  return Ref(PyObject_CallFunction(numpy()->empty, "(LLLL)O", static_cast<long long>(size[0]),
                                   static_cast<long long>(size[1]), static_cast<long long>(size[2]),
                                   static_cast<long long>(size[3]), dtype.get()));
}

Ref numpy_lse(const TensorView& q) {
  const int64_t* size = q.tensor.sizes;
  return Ref(PyObject_CallFunction(numpy()->empty, "(LLL)O", static_cast<long long>(size[0]),
                                   static_cast<long long>(size[1]), static_cast<long long>(size[2]),
                                   numpy()->float32));
}

}  // namespace flashmoe_python
