// SPDX-License-Identifier: MIT
#include "dlpack.h"

#include <cstdint>

namespace flashmoe_python {
namespace {

// The memory layout that the DLPack specification fixes.
enum : int32_t { kDeviceCpu = 1, kDeviceCuda = 2, kDeviceCudaHost = 3 };
enum : uint8_t { kCodeFloat = 2, kCodeBfloat = 4 };
constexpr uint64_t kFlagReadOnly = 1;

struct DLTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;  // in elements; null means densely packed
  uint64_t byte_offset;
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

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

const DLTensor* open_capsule(TensorView& view) {
  if (PyCapsule_IsValid(view.keep.get(), "dltensor_versioned")) {
    const auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(view.keep.get(), "dltensor_versioned"));
    if (managed->major != 1) {
      fail(PyExc_NotImplementedError, "attention: %s speaks DLPack %u.%u; accepted are 0.x and 1.x",
           view.name, managed->major, managed->minor);
      return nullptr;
    }
    view.writable = (managed->flags & kFlagReadOnly) == 0;
    return &managed->tensor;
  }
  // The old form begins with the tensor, and can't say whether its memory may be written.
  view.writable = false;
  return static_cast<const DLTensor*>(PyCapsule_GetPointer(view.keep.get(), "dltensor"));
}

bool read_dtype(const DLTensor& from, TensorView& view) {
  if (from.lanes == 1 && from.code == kCodeFloat && from.bits == 32)
    view.tensor.dtype = FLASHMOE_FP32;
  else if (from.lanes == 1 && from.code == kCodeFloat && from.bits == 16)
    view.tensor.dtype = FLASHMOE_FP16;
  else if (from.lanes == 1 && from.code == kCodeBfloat && from.bits == 16)
    view.tensor.dtype = FLASHMOE_BF16;
  else {
    const Ref text(PyUnicode_FromFormat("DLPack type code %d with %d bits and %d lanes", from.code, from.bits,
                                        from.lanes));
    return text && refuse_dtype(view, text.get());
  }
  return true;
}

bool read_device(const DLTensor& from, TensorView& view) {
  if (from.device_type == kDeviceCpu || from.device_type == kDeviceCudaHost) return true;
  if (from.device_type != kDeviceCuda) {
    return fail(
        PyExc_NotImplementedError,
        "attention: %s is on DLPack device type %d; accepted are 1 (cpu), 2 (cuda) and 3 (cuda host memory)",
        view.name, from.device_type);
  }
  view.device = FLASHMOE_DEVICE_CUDA;
  view.device_index = from.device_id;
  return true;
}

}  // namespace

bool has_dlpack(PyObject* object) { return PyObject_HasAttrString(object, "__dlpack__") == 1; }

bool read_dlpack(int rank, TensorView& view) {
  view.library = Library::dlpack;
  view.keep = export_capsule(view);
  if (!view.keep) return false;
  const DLTensor* from = open_capsule(view);
  if (from == nullptr) return false;
  if (!read_device(*from, view) || !read_dtype(*from, view) || !check_rank(view, from->ndim, rank))
    return false;
  view.tensor.data = static_cast<char*>(from->data) + from->byte_offset;
  int64_t dense_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    view.tensor.sizes[i] = from->shape[i];
    view.tensor.strides[i] = from->strides == nullptr ? dense_stride : from->strides[i];
    dense_stride *= from->shape[i];
  }
  return true;
}

}  // namespace flashmoe_python
