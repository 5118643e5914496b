// SPDX-License-Identifier: MIT
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

struct Torch {
  PyObject *tensor, *parameter;  // types
  PyObject *float32, *float16, *bfloat16, *uint8;
  PyObject *empty, *empty_like, *is_grad_enabled;
};

// Null until the program has imported PyTorch. Nothing in this module imports it.
const Torch* torch() {
  static Torch api;
  static bool known = false;
  if (known) return &api;
  const Ref module = imported_module("torch");
  const Ref nn = imported_module("torch.nn");
  if (!module || !nn) return nullptr;
  const auto get = [&](const char* name) { return PyObject_GetAttrString(module.get(), name); };
  api = {get("Tensor"),         PyObject_GetAttrString(nn.get(), "Parameter"),
         get("float32"),        get("float16"),
         get("bfloat16"),       get("uint8"),
         get("empty"),          get("empty_like"),
         get("is_grad_enabled")};
  known = api.tensor && api.parameter && api.float32 && api.float16 && api.bfloat16 && api.uint8 &&
          api.empty && api.empty_like && api.is_grad_enabled;
  PyErr_Clear();  // half imported: not known yet
  return known ? &api : nullptr;
}

bool read_dtype(TensorView& view) {
  static PyObject* const name = interned("dtype");
  const Ref dtype = attribute(view.object, name);
  if (!dtype) return false;
  if (dtype.get() == torch()->float32)
    view.tensor.dtype = FLASHMOE_FP32;
  else if (dtype.get() == torch()->float16)
    view.tensor.dtype = FLASHMOE_FP16;
  else if (dtype.get() == torch()->bfloat16)
    view.tensor.dtype = FLASHMOE_BF16;
  else
    return refuse_dtype(view, dtype.get());
  return true;
}

bool read_other_device(TensorView& view) {
  const Ref device(PyObject_GetAttrString(view.object, "device"));
  const Ref type(device ? PyObject_GetAttrString(device.get(), "type") : nullptr);
  if (!type) return false;
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

bool read_device(TensorView& view) {
  static PyObject* const name = interned("is_cpu");
  const Ref is_cpu = attribute(view.object, name);
  if (is_cpu.get() == Py_True) return true;
  PyErr_Clear();  // a release without is_cpu: the device itself says
  return read_other_device(view);
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
  return strides && copy_integers(strides.get(), view.rank, view.tensor.strides);
}

// Tensors that are not plain strided memory: sparse layouts, and views that negate when they are read.
bool check_plain(const TensorView& view) {
  static PyObject* const name = interned("is_neg");
  const Ref negated = call_method(view.object, name);
  if (negated.get() == Py_False) return true;
  PyErr_Clear();
  return !negated || fail(PyExc_ValueError, "attention: %s is a lazily negated view\n  try: %s.resolve_neg()",
                          view.name, view.name);
}

}  // namespace

bool is_torch_tensor(PyObject* object) {
  const Torch* api = torch();
  return api != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(api->tensor));
}

bool read_torch(int rank, TensorView& view) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(view.object));
  if (type != torch()->tensor && type != torch()->parameter) {
    return fail(
        PyExc_TypeError,
        "attention: %s is a %s, a subclass of torch.Tensor that may mean more than its memory says\n  try: "
        "%s.as_subclass(torch.Tensor), if its plain values are what you want",
        view.name, Py_TYPE(view.object)->tp_name, view.name);
  }
  static PyObject* const shape_name = interned("shape");
  view.library = Library::torch;
  if (!read_device(view) || !read_dtype(view)) return false;
  const Ref shape = attribute(view.object, shape_name);
  if (!shape || !PyTuple_Check(shape.get())) return shape && fail(PyExc_TypeError, "attention: no shape");
  if (!check_rank(view, PyTuple_GET_SIZE(shape.get()), rank)) return false;
  return copy_integers(shape.get(), rank, view.tensor.sizes) && read_strides(view) && check_plain(view) &&
         torch_data_pointer(view.object, view.tensor.data);
}

bool check_no_grad(const TensorView& view) {
  if (view.library != Library::torch) return true;
  static PyObject* const name = interned("requires_grad");
  const Ref wanted = attribute(view.object, name);
  if (!wanted) return false;
  if (wanted.get() == Py_False) return true;
  const Ref enabled(PyObject_CallNoArgs(torch()->is_grad_enabled));
  if (!enabled) return false;
  return enabled.get() == Py_False || fail(PyExc_NotImplementedError,
                                           "attention: %s requires grad, and there is only a forward pass "
                                           "here\n  try: %s.detach(), or call under "
                                           "torch.no_grad()",
                                           view.name, view.name);
}

Ref torch_output(const TensorView& q) { return Ref(PyObject_CallOneArg(torch()->empty_like, q.object)); }

bool read_torch_output(PyObject* tensor, const TensorView& q, TensorView& view) {
  view.object = tensor;
  view.name = "out";
  view.rank = q.rank;
  view.library = Library::torch;
  view.tensor = q.tensor;
  view.device = q.device;
  view.device_index = q.device_index;
  return read_strides(view) && torch_data_pointer(tensor, view.tensor.data);
}

namespace {

// torch.empty(shape, dtype=dtype, device=q.device)
Ref empty_on_device_of(const TensorView& q, Ref shape, PyObject* dtype) {
  static PyObject* const device_name = interned("device");
  static PyObject* const keywords = Py_BuildValue("(ss)", "dtype", "device");
  const Ref device =
      attribute(q.object, device_name);  // always named: torch.set_default_device must not matter
  if (!shape || !device) return {};
  PyObject* args[] = {shape.get(), dtype, device.get()};
  return Ref(PyObject_Vectorcall(torch()->empty, args, 1, keywords));
}

}  // namespace

Ref torch_lse(const TensorView& q) {
  const int64_t* size = q.tensor.sizes;
  return empty_on_device_of(
      q,
      Ref(Py_BuildValue("(LLL)", static_cast<long long>(size[0]), static_cast<long long>(size[1]),
                        static_cast<long long>(size[2]))),
      torch()->float32);
}

Ref torch_scratch(const TensorView& q, std::size_t bytes) {
  return empty_on_device_of(q, Ref(PyLong_FromSize_t(bytes)), torch()->uint8);
}

bool torch_data_pointer(PyObject* tensor, void*& pointer) {
  static PyObject* const name = interned("data_ptr");
  const Ref address = call_method(tensor, name);
  if (!address) return false;
  pointer = PyLong_AsVoidPtr(address.get());
  return pointer != nullptr || !PyErr_Occurred();
}

namespace {

// Calls torch._C.<name>(...), which every CUDA build of PyTorch has, and reads the integer that it returns.
template <class... Values>
Ref call_torch_internals(const char* name, const char* format, Values... values) {
  const Ref internals = imported_module("torch._C");
  if (!internals) {
    fail(PyExc_RuntimeError, "attention: torch._C is not loaded");
    return {};
  }
  return Ref(PyObject_CallMethod(internals.get(), name, format, values...));
}

}  // namespace

bool CudaDeviceScope::enter(int device_index) {
  const Ref current = call_torch_internals("_cuda_getDevice", nullptr);
  if (!current) return false;
  const long index = PyLong_AsLong(current.get());
  if (index == -1 && PyErr_Occurred()) return false;
  if (index == device_index) return true;
  if (!call_torch_internals("_cuda_setDevice", "i", device_index)) return false;
  previous_ = static_cast<int>(index);
  return true;
}

CudaDeviceScope::~CudaDeviceScope() {
  if (previous_ < 0) return;
  const PendingException kept;  // one that is on its way stays on its way
  if (!call_torch_internals("_cuda_setDevice", "i", previous_)) PyErr_Clear();
}

bool torch_current_stream(int device_index, void*& stream) {
  const Ref address = call_torch_internals("_cuda_getCurrentRawStream", "i", device_index);
  if (!address) return false;
  stream = PyLong_AsVoidPtr(address.get());
  return stream != nullptr || !PyErr_Occurred();
}

}  // namespace flashmoe_python
