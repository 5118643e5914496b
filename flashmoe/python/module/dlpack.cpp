// SPDX-License-Identifier: MIT
#include "dlpack.h"

#include <algorithm>

namespace flashmoe_python {
namespace {

// The capsule stays ours and unconsumed: its own destructor gives the tensor back when `keep` goes away.
Ref export_capsule(const TensorView& view) {
  static PyObject* const name = interned("__dlpack__");
  static PyObject* const with_version = Py_BuildValue("(s)", "max_version");
  static PyObject* const version = Py_BuildValue("(ii)", 1, 0);
  PyObject* args[] = {view.object, version};
  Ref capsule(PyObject_VectorcallMethod(name, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, with_version));
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear();  // a producer older than DLPack 1.0 knows no max_version
  return call_method(view.object, name);
}

const dlpack::Tensor* open_capsule(TensorView& view) {
  if (PyCapsule_IsValid(view.keep.get(), "dltensor_versioned")) {
    const auto* managed =
        static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(view.keep.get(), "dltensor_versioned"));
    if (managed->version.major != 1) {
      fail(PyExc_NotImplementedError, "attention: %s speaks DLPack %u.%u; accepted are 0.x and 1.x",
           view.name, managed->version.major, managed->version.minor);
      return nullptr;
    }
    view.writable = (managed->flags & dlpack::kFlagReadOnly) == 0;
    return &managed->tensor;
  }
  // The old form begins with the tensor, and can't say whether its memory may be written.
  view.writable = false;
  return static_cast<const dlpack::Tensor*>(PyCapsule_GetPointer(view.keep.get(), "dltensor"));
}

bool fill_dtype(const dlpack::Tensor& from, TensorView& view) {
  if (from.lanes != 1) return false;
  if (view.form.elements == Elements::int32) return from.code == dlpack::kCodeInt && from.bits == 32;
  if (from.code == dlpack::kCodeFloat && from.bits == 32)
    view.tensor.dtype = FLASHMOE_FP32;
  else if (from.code == dlpack::kCodeFloat && from.bits == 16)
    view.tensor.dtype = FLASHMOE_FP16;
  else if (from.code == dlpack::kCodeBfloat && from.bits == 16)
    view.tensor.dtype = FLASHMOE_BF16;
  else if (from.code == dlpack::kCodeBool && from.bits == 8 && view.form.elements == Elements::floats_or_bool)
    view.tensor.dtype = FLASHMOE_BOOLEAN;
  else
    return false;
  return true;
}

bool fill_device(const dlpack::Tensor& from, TensorView& view) {
  if (from.device_type == dlpack::kDeviceCuda) {
    view.device = FLASHMOE_DEVICE_CUDA;
    view.device_index = from.device_id;
    return true;
  }
  return from.device_type == dlpack::kDeviceCpu || from.device_type == dlpack::kDeviceCudaHost;
}

// What kept fill_from from it, as an exception.
bool refuse(const dlpack::Tensor& from, TensorView& view) {
  if (!fill_device(from, view)) {
    return fail(
        PyExc_NotImplementedError,
        "attention: %s is on DLPack device type %d; accepted are 1 (cpu), 2 (cuda) and 3 (cuda host memory)",
        view.name, from.device_type);
  }
  if (!fill_dtype(from, view)) {
    const Ref text(PyUnicode_FromFormat("DLPack type code %d with %d bits and %d lanes", from.code, from.bits,
                                        from.lanes));
    return text && refuse_dtype(view, text.get());
  }
  return check_rank(view, from.ndim);
}

}  // namespace

bool has_dlpack(PyObject* object) { return PyObject_HasAttrString(object, "__dlpack__") == 1; }

bool fill_from(const dlpack::Tensor& from, TensorView& view) {
  const int rank = view.form.rank;
  if (from.ndim != rank || !fill_device(from, view) || !fill_dtype(from, view)) return false;
  view.tensor.data = static_cast<char*>(from.data) + from.byte_offset;
  std::copy_n(from.shape, rank, view.tensor.sizes);
  if (from.strides != nullptr) {
    std::copy_n(from.strides, rank, view.tensor.strides);
    return true;
  }
  int64_t dense_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    view.tensor.strides[i] = dense_stride;
    dense_stride *= from.shape[i];
  }
  return true;
}

bool read_dlpack(TensorView& view) {
  view.library = Library::dlpack;
  view.keep = export_capsule(view);
  if (!view.keep) return false;
  const dlpack::Tensor* from = open_capsule(view);
  if (from == nullptr) return false;
  return fill_from(*from, view) || refuse(*from, view);
}

}  // namespace flashmoe_python
