// SPDX-License-Identifier: MIT
#include "library_call.h"

#include "torch_output.h"
#include "torch_tensor.h"
#include "workspace.h"

namespace flashmoe_python {

bool raise(flashmoe_status status) {
  PyObject* exception = status == FLASHMOE_INVALID_ARGUMENT ? PyExc_ValueError
                        : status == FLASHMOE_UNSUPPORTED    ? PyExc_NotImplementedError
                                                            : PyExc_RuntimeError;
  PyErr_SetString(exception, flashmoe_last_error());
  return false;
}

bool enter_device(const TensorView& q, CudaDeviceScope& device, void*& stream) {
  if (q.device != FLASHMOE_DEVICE_CUDA || q.library != Library::torch) return true;
  return device.enter(q.device_index) && torch_current_stream(q.device_index, stream);
}

Scratch::Scratch(const TensorView& q) : q_(q), thread_(PyEval_SaveThread()) {}

void* Scratch::from_host(void* self, std::size_t bytes) {
  void* memory = ThreadWorkspace::of_this_thread().reserve(bytes);
  static_cast<Scratch*>(self)->failed_ = memory == nullptr;
  return memory;
}

void* Scratch::from_torch(void* self, std::size_t bytes) {
  auto& scratch = *static_cast<Scratch*>(self);
  void* memory = nullptr;
  PyEval_RestoreThread(scratch.thread_);
  scratch.tensor_ = torch_scratch(scratch.q_, bytes);
  scratch.failed_ = !scratch.tensor_ || !torch_data_pointer(scratch.tensor_.get(), memory);
  scratch.thread_ = PyEval_SaveThread();
  return memory;
}

bool Scratch::finish(flashmoe_status status) {
  if (on_host()) ThreadWorkspace::of_this_thread().trim();
  PyEval_RestoreThread(thread_);
  if (status == FLASHMOE_OK) return true;
  if (!failed_) return raise(status);
  return PyErr_Occurred() == nullptr && fail(PyExc_MemoryError, "%s", flashmoe_last_error());
}

}  // namespace flashmoe_python
