// SPDX-License-Identifier: MIT
// What the C ABI needs to know of a tensor, read from a NumPy array, a PyTorch tensor, or any
// object with DLPack or the buffer protocol.
// Nothing is ever copied: the view keeps what it must (a buffer, a capsule) until it goes away.
#pragma once

#include "flashmoe/flashmoe.h"
#include "object.h"

namespace flashmoe_python {

enum class Library { numpy, torch, dlpack, buffer };  // the last two: of any library

// What elements may be: float32, float16 or bfloat16; int32; the first or bool.
enum class Elements { floats, int32, floats_or_bool };

// What a tensor must look like.
struct Form {
  int rank;
  const char* dimensions;
  Elements elements = Elements::floats;
};
inline constexpr Form kBatch{4, "[batch, heads, rows, head_dim]"};
inline constexpr Form kBatchRows{3, "[batch, heads, rows]"};
inline constexpr Form kPacked{3, "[rows, heads, head_dim]"};
inline constexpr Form kPackedRows{2, "[heads, rows]"};
inline constexpr Form kLengths{1, "[sequences]", Elements::int32};

struct TensorView {
  PyObject* object = nullptr;  // borrowed: the caller holds the arguments for the length of the call
  const char* name = nullptr;  // "q", for messages
  Library library = Library::numpy;
  Form form{};
  flashmoe_tensor tensor{};  // as many sizes and strides are set as there are dimensions
  int32_t device = FLASHMOE_DEVICE_CPU;
  int32_t device_index = 0;
  bool writable = true;

  Py_buffer buffer{};  // exported for as long as we read, so that no one resizes the array under us
  Ref keep;            // DLPack: the capsule; NumPy bfloat16: the integer view that can be exported

  TensorView() = default;
  TensorView(const TensorView&) = delete;
  TensorView& operator=(const TensorView&) = delete;
  ~TensorView() { PyBuffer_Release(&buffer); }  // does nothing if there is none

  // As the library has it: packed rows are those of one batch entry.
  flashmoe_tensor of_batch() const;
};

// Reads `object` into `view`. False with a Python exception set if it is no tensor of this form that the
// library could use; the library itself judges sizes and strides.
bool read_tensor(PyObject* object, const char* name, const Form& form, TensorView& view);

// Helpers of the readers.
bool check_rank(const TensorView& view, Py_ssize_t dimensions);
bool refuse_dtype(const TensorView& view, PyObject* dtype);

}  // namespace flashmoe_python
