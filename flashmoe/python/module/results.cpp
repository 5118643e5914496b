// SPDX-License-Identifier: MIT
#include "results.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "numpy_array.h"
#include "torch_output.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

const char* name_of_device(int32_t device) { return device == FLASHMOE_DEVICE_CPU ? "cpu" : "cuda"; }

bool check_writable(const TensorView& view) {
  if (view.writable) return true;
  if (view.library == Library::dlpack) {
    return fail(PyExc_ValueError, "attention: %s does not say through DLPack 1.0 that it may be written",
                view.name);
  }
  return fail(PyExc_ValueError,
              "attention: %s is read-only\n  try: %s.copy(), or leave it out to get a new one", view.name,
              view.name);
}

// The sizes of a log-sum-exp.
struct RowSizes {
  explicit RowSizes(const TensorView& q) {
    const int64_t* size = q.tensor.sizes;
    if (q.form.rank == kPacked.rank) {
      values = {size[1], size[0]};
      count = 2;
    } else {
      values = {size[0], size[1], size[2]};
      count = 3;
    }
  }
  std::span<const int64_t> span() const { return {values.data(), count}; }

  std::array<int64_t, 3> values{};
  std::size_t count;
};

// Not by std::to_string, whose table of digits would be a symbol that the module exports.
std::string in_words(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%s%lld", text.size() > 1 ? ", " : "", static_cast<long long>(size));
    text += digits;
  }
  return text + "]";
}

template <class FromNumpy, class FromTorch>
Ref allocate(const TensorView& like, FromNumpy from_numpy, FromTorch from_torch, const char* name,
             const Form& form, TensorView& view) {
  view.name = name;
  view.form = form;
  if (like.library == Library::torch) return from_torch(like, view);
  if (like.library == Library::numpy) {
    Ref array = from_numpy(like);
    return array && read_tensor(array.get(), name, form, view) ? std::move(array) : Ref();
  }
  fail(PyExc_TypeError,
       "attention: can't allocate a result like %s, a %s: neither a NumPy array nor a PyTorch tensor\n  try: "
       "give %s",
       like.name, Py_TYPE(like.object)->tp_name, name);
  return {};
}

}  // namespace

bool given(PyObject* object) { return object != nullptr && object != Py_None; }

Ref new_like(const TensorView& like, const char* name, TensorView& view) {
  return allocate(like, numpy_output, torch_output, name, like.form, view);
}

Ref new_lse(const TensorView& q, TensorView& view) {
  const RowSizes sizes(q);
  return allocate(
      q, [&](const TensorView& like) { return numpy_rows(like, sizes.span()); },
      [&](const TensorView& like, TensorView& made) { return torch_rows(like, sizes.span(), made); }, "lse",
      form_of_rows(q), view);
}

const Form& form_of_rows(const TensorView& q) {
  return q.form.rank == kPacked.rank ? kPackedRows : kBatchRows;
}

bool check_same_device(const TensorView& view, const TensorView& q) {
  if (view.device == q.device && view.device_index == q.device_index) return true;
  return fail(PyExc_ValueError,
              "attention: %s is on %s:%d but q is on %s:%d; all tensors must be on one device", view.name,
              name_of_device(view.device), view.device_index, name_of_device(q.device), q.device_index);
}

bool read_target(PyObject* object, const char* name, const Form& form, const TensorView& q,
                 TensorView& view) {
  return read_tensor(object, name, form, view) && check_same_device(view, q) && check_writable(view) &&
         check_no_grad(view);
}

bool check_rows(const TensorView& view, const TensorView& q) {
  if (view.tensor.dtype != FLASHMOE_FP32)
    return fail(PyExc_TypeError, "attention: %s must be float32", view.name);
  const int64_t* size = view.tensor.sizes;
  const RowSizes expected(q);
  if (!std::ranges::equal(std::span(size, expected.count), expected.span())) {
    return fail(PyExc_ValueError, "attention: %s has shape %s; it must be %s, as q", view.name,
                in_words({size, expected.count}).c_str(), in_words(expected.span()).c_str());
  }
  int64_t dense_stride = 1;
  for (int i = static_cast<int>(expected.count) - 1; i >= 0; --i) {
    if (size[i] > 1 && view.tensor.strides[i] != dense_stride && dense_stride != 0) {
      return fail(PyExc_ValueError,
                  "attention: %s has stride %lld in dimension %d; it must be contiguous (%lld)", view.name,
                  static_cast<long long>(view.tensor.strides[i]), i, static_cast<long long>(dense_stride));
    }
    dense_stride *= size[i];
  }
  return true;
}

}  // namespace flashmoe_python
