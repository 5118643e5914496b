// SPDX-License-Identifier: MIT
#include "torch_cuda.h"

#include "torch_api.h"

namespace flashmoe_python {
namespace {

bool ask(PyObject* function, int& answer) {
  const Ref number(PyObject_CallNoArgs(function));
  answer = number ? static_cast<int>(PyLong_AsLong(number.get())) : -1;
  return number && (answer != -1 || !PyErr_Occurred());
}

Ref call(PyObject* function, int argument) {
  const Ref number(PyLong_FromLong(argument));
  return Ref(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
}

}  // namespace

bool CudaDeviceScope::enter(int device_index) {
  const Torch& api = *torch();
  if (!api.cuda_device_count || !api.cuda_get_device || !api.cuda_set_device || !api.cuda_current_stream)
    return fail(PyExc_RuntimeError,
                "attention: this PyTorch has a CUDA tensor, but torch._C no CUDA functions");
  static int count = 0;  // of this process: it can't change any more once there is a tensor
  if (count == 0 && !ask(api.cuda_device_count, count)) return false;
  if (count == 1) return true;  // no other could be the current one
  int current = 0;
  if (!ask(api.cuda_get_device, current)) return false;
  if (current == device_index) return true;
  if (!call(api.cuda_set_device, device_index)) return false;
  previous_ = current;
  return true;
}

CudaDeviceScope::~CudaDeviceScope() {
  if (previous_ < 0) return;
  const PendingException kept;  // one that is on its way stays on its way
  if (!call(torch()->cuda_set_device, previous_)) PyErr_Clear();
}

bool torch_current_stream(int device_index, void*& stream) {
  if (const dlpack::ExchangeApi* exchange = torch()->exchange)
    return exchange->current_stream(dlpack::kDeviceCuda, device_index, &stream) == 0;
  const Ref address = call(torch()->cuda_current_stream, device_index);
  if (!address) return false;
  stream = PyLong_AsVoidPtr(address.get());
  return stream != nullptr || !PyErr_Occurred();
}

}  // namespace flashmoe_python
