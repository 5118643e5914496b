// SPDX-License-Identifier: MIT
// One call of the library: where it runs, memory for its workspace, and its errors as exceptions.
#pragma once

#include "flashmoe/flashmoe.h"
#include "interrupt.h"
#include "tensor_view.h"
#include "torch_cuda.h"

namespace flashmoe_python {

// The library's own message, as the exception that fits its status.
bool raise(flashmoe_status status);

// PyTorch's current stream on q's device, which becomes the current one; null for other libraries, whose
// producers order their work before the default stream.
bool enter_device(const TensorView& q, CudaDeviceScope& device, void*& stream);

// Where the workspace comes from during a call, which does not hold the GIL. From the constructor to
// finish().
class Scratch {
 public:
  explicit Scratch(const TensorView& q);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  flashmoe_allocate allocate() const { return on_host() ? from_host : from_torch; }
  bool finish(flashmoe_status status);  // takes the GIL back; false with an exception

 private:
  bool on_host() const { return q_.device == FLASHMOE_DEVICE_CPU; }
  static void* from_host(void* self, std::size_t bytes);
  static void* from_torch(void* self, std::size_t bytes);

  const TensorView& q_;
  PyThreadState* thread_;  // to take the GIL with
  Ref tensor_{};           // CUDA: may be let go at once: PyTorch reuses the block in stream order
  bool failed_ = false;
};

// Whether a person may want to end it.
inline bool is_long(const flashmoe_tensor& q, const flashmoe_tensor& k) {
  constexpr double kProducts = 1e9;  // of elements of q and k: about 0.1 s of one core
  double products = 1;
  for (const int64_t size : q.sizes) products *= static_cast<double>(size);
  return products * static_cast<double>(k.sizes[2]) > kProducts;
}

// `call` is flashmoe_attention_forward_with, say.
template <class Args>
bool compute(const TensorView& q, Args& args,
             flashmoe_status (*call)(const Args*, flashmoe_allocate, void*)) {
  if (q.device != FLASHMOE_DEVICE_CPU && q.library != Library::torch) {
    return fail(PyExc_NotImplementedError, "attention: CUDA memory is accepted from PyTorch only; q is a %s",
                Py_TYPE(q.object)->tp_name);
  }
  for (;;) {
    const Interrupt interrupt(q.device == FLASHMOE_DEVICE_CPU && is_long(args.q, args.k));
    args.cancel = interrupt.flag();
    Scratch scratch(q);
    const flashmoe_status status = call(&args, scratch.allocate(), &scratch);
    if (status != FLASHMOE_CANCELLED) return scratch.finish(status);
    scratch.finish(FLASHMOE_OK);
    if (PyErr_CheckSignals() != 0) return false;  // KeyboardInterrupt, say; else from the beginning
  }
}

// The text of flashmoe_explain_forward, say.
template <class Args>
PyObject* explanation(const Args& args, flashmoe_status (*call)(const Args*, char*, size_t, size_t*)) {
  std::size_t needed = 0;
  flashmoe_status status = call(&args, nullptr, 0, &needed);
  const Ref bytes(status == FLASHMOE_OK ? PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(needed))
                                        : nullptr);
  if (status == FLASHMOE_OK && !bytes) return nullptr;
  if (status == FLASHMOE_OK) status = call(&args, PyBytes_AS_STRING(bytes.get()), needed, nullptr);
  if (status == FLASHMOE_OK) return PyUnicode_FromString(PyBytes_AS_STRING(bytes.get()));
  raise(status);
  return nullptr;
}

}  // namespace flashmoe_python
