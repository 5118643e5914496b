// SPDX-License-Identifier: MIT
#include "torch_cuda.h"

#include "torch_api.h"

namespace flashmoe_python {
namespace {

// A function of torch._C that every CUDA build of PyTorch has; null with an exception if this one has not.
// Looked up once for each `name`, a string constant.
template <const char* const* kName>
PyObject* internal() {
  static PyObject* function = nullptr;
  if (function != nullptr) return function;
  const Ref module = imported_module("torch._C");
  if (module) {
    function = PyObject_GetAttrString(module.get(), *kName);
  } else {
    fail(PyExc_RuntimeError, "attention: torch._C is not loaded");
  }
  return function;
}

constexpr const char* kDeviceCount = "_cuda_getDeviceCount";
constexpr const char* kGetDevice = "_cuda_getDevice";
constexpr const char* kSetDevice = "_cuda_setDevice";
constexpr const char* kGetStream = "_cuda_getCurrentRawStream";

template <const char* const* kName>
bool ask(int& answer) {
  PyObject* function = internal<kName>();
  const Ref number(function ? PyObject_CallNoArgs(function) : nullptr);
  answer = number ? static_cast<int>(PyLong_AsLong(number.get())) : -1;
  return number && (answer != -1 || !PyErr_Occurred());
}

template <const char* const* kName>
Ref call(int argument) {
  PyObject* function = internal<kName>();
  const Ref number(PyLong_FromLong(argument));
  return Ref(function && number ? PyObject_CallOneArg(function, number.get()) : nullptr);
}

}  // namespace

bool CudaDeviceScope::enter(int device_index) {
  static int count = 0;  // of this process: it can't change any more once there is a tensor
  if (count == 0 && !ask<&kDeviceCount>(count)) return false;
  if (count == 1) return true;  // no other could be the current one
  int current = 0;
  if (!ask<&kGetDevice>(current)) return false;
  if (current == device_index) return true;
  if (!call<&kSetDevice>(device_index)) return false;
  previous_ = current;
  return true;
}

CudaDeviceScope::~CudaDeviceScope() {
  if (previous_ < 0) return;
  const PendingException kept;  // one that is on its way stays on its way
  if (!call<&kSetDevice>(previous_)) PyErr_Clear();
}

bool torch_current_stream(int device_index, void*& stream) {
  if (const dlpack::ExchangeApi* exchange = torch()->exchange)
    return exchange->current_stream(dlpack::kDeviceCuda, device_index, &stream) == 0;
  const Ref address = call<&kGetStream>(device_index);
  if (!address) return false;
  stream = PyLong_AsVoidPtr(address.get());
  return stream != nullptr || !PyErr_Occurred();
}

}  // namespace flashmoe_python
