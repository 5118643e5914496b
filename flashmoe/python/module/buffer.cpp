// SPDX-License-Identifier: MIT
#include "buffer.h"

#include <cstring>

namespace flashmoe_python {

bool has_buffer(PyObject* object) { return PyObject_CheckBuffer(object) == 1; }

bool export_buffer(PyObject* object, TensorView& view) {
  return PyObject_GetBuffer(object, &view.buffer, PyBUF_STRIDES | PyBUF_FORMAT) == 0;
}

bool fill_dtype(TensorView& view) {
  const char* format = view.buffer.format == nullptr ? "B" : view.buffer.format;
  if (*format == '@' || *format == '=' || *format == (PY_LITTLE_ENDIAN ? '<' : '>')) ++format;
  if (view.form.elements == Elements::int32) return std::strcmp(format, "i") == 0;
  if (std::strcmp(format, "f") == 0)
    view.tensor.dtype = FLASHMOE_FP32;
  else if (std::strcmp(format, "e") == 0)
    view.tensor.dtype = FLASHMOE_FP16;
  else if (std::strcmp(format, "?") == 0 && view.form.elements == Elements::floats_or_bool)
    view.tensor.dtype = FLASHMOE_BOOLEAN;
  else
    return false;
  return true;
}

bool fill_layout(TensorView& view) {
  const Py_buffer& buffer = view.buffer;
  if (!check_rank(view, buffer.ndim)) return false;
  view.writable = buffer.readonly == 0;
  view.tensor.data = buffer.buf;
  Py_ssize_t dense_bytes = buffer.itemsize;  // ctypes leaves the strides of its arrays out
  for (int i = view.form.rank - 1; i >= 0; --i) {
    const Py_ssize_t bytes = buffer.strides == nullptr ? dense_bytes : buffer.strides[i];
    if (bytes % buffer.itemsize != 0 && buffer.shape[i] > 1) {
      return fail(PyExc_ValueError,
                  "attention: %s has a stride of %zd bytes in dimension %d; it must be a multiple of its "
                  "%zd-byte elements\n  try: a contiguous copy of it",
                  view.name, bytes, i, buffer.itemsize);
    }
    view.tensor.sizes[i] = buffer.shape[i];
    view.tensor.strides[i] = bytes / buffer.itemsize;
    dense_bytes *= buffer.shape[i];
  }
  return true;
}

bool read_buffer(TensorView& view) {
  view.library = Library::buffer;
  if (!export_buffer(view.object, view)) return false;
  if (fill_dtype(view)) return fill_layout(view);
  const char* format = view.buffer.format == nullptr ? "B" : view.buffer.format;
  const Ref text(PyUnicode_FromFormat("a buffer of format '%s'", format));
  return text && refuse_dtype(view, text.get());
}

}  // namespace flashmoe_python
