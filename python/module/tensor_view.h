// SPDX-License-Identifier: MIT
// What the C ABI needs to know of a tensor, read from a NumPy array, a PyTorch tensor, or any
// object with DLPack or the buffer protocol.
// Nothing is ever copied: the view keeps what it must (a buffer, a capsule) until it goes away.
#pragma once

#include "flashmoe/flashmoe.h"
#include "object.h"

namespace flashmoe_python {

enum class Library { numpy, torch, dlpack, buffer };  // the last two: of any library

struct TensorView {
  PyObject* object = nullptr;  // borrowed: the caller holds the arguments for the length of the call
  const char* name = nullptr;  // "q", for messages
  Library library = Library::numpy;
  int rank = 0;
  flashmoe_tensor tensor{};  // the first `rank` sizes and strides are set
  int32_t device = FLASHMOE_DEVICE_CPU;
  int32_t device_index = 0;
  bool writable = true;

  Py_buffer buffer{};  // exported for as long as we read, so that no one resizes the array under us
  Ref keep;            // DLPack: the capsule; NumPy bfloat16: the integer view that can be exported

  TensorView() = default;
  TensorView(const TensorView&) = delete;
  TensorView& operator=(const TensorView&) = delete;
  ~TensorView() { PyBuffer_Release(&buffer); }  // does nothing if there is none
};

// Reads `object` into `view`. False with a Python exception set if it is no tensor of `rank` dimensions that
// the library could use; the library itself judges sizes and strides.
bool read_tensor(PyObject* object, const char* name, int rank, TensorView& view);

// Helpers of the readers.
bool check_rank(const TensorView& view, Py_ssize_t dimensions, int rank);
bool refuse_dtype(const TensorView& view, PyObject* dtype);

}  // namespace flashmoe_python
