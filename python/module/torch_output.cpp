// SPDX-License-Identifier: MIT
#include "torch_output.h"

#include "torch_api.h"

namespace flashmoe_python {
namespace {

using Sizes = std::span<const int64_t>;

// Nothing, and no exception, where the shortcut does not lead to a tensor. q's device is the current one.
Ref empty_strided(const TensorView& q, Sizes sizes, Sizes strides, PyObject* dtype) {
  PyObject* function = torch()->empty_strided[static_cast<std::size_t>(q.device)];
  if (function == nullptr || torch()->exchange == nullptr) return {};
  const Ref sizes_tuple = tuple_of(sizes);
  const Ref strides_tuple = tuple_of(strides);
  if (!sizes_tuple || !strides_tuple) return {};
  PyObject* args[] = {sizes_tuple.get(), strides_tuple.get(), dtype};
  Ref tensor(PyObject_Vectorcall(function, args, std::size(args), nullptr));
  if (!tensor) PyErr_Clear();  // no memory, perhaps: torch.empty will say so
  return tensor;
}

// torch.empty(shape, dtype=dtype, device=q.device)
Ref empty(const TensorView& q, Sizes sizes, PyObject* dtype) {
  static PyObject* const device_name = interned("device");
  static PyObject* const keywords = Py_BuildValue("(ss)", "dtype", "device");
  const Ref shape = tuple_of(sizes);
  const Ref device =
      attribute(q.object, device_name);  // always named: torch.set_default_device must not matter
  if (!shape || !device) return {};
  PyObject* args[] = {shape.get(), dtype, device.get()};
  return Ref(PyObject_Vectorcall(torch()->empty, args, 1, keywords));
}

// Whether the elements fill their memory without gaps or repeats, whatever the order of the dimensions: then
// a tensor like it has the same strides.
bool is_dense(const TensorView& view) {
  const flashmoe_tensor& t = view.tensor;
  int64_t expected = 1;
  bool placed[4];
  for (int i = 0; i < 4; ++i) placed[i] = i >= view.form.rank || t.sizes[i] == 1;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 4; ++i) {
      if (placed[i] || t.strides[i] != expected) continue;
      placed[i] = true;
      expected *= t.sizes[i];
      break;
    }
  }
  return placed[0] && placed[1] && placed[2] && placed[3];
}

}  // namespace

Ref torch_output(const TensorView& q) {
  if (is_dense(q)) {
    const auto rank = static_cast<std::size_t>(q.form.rank);
    PyObject* dtype = torch()->dtypes[static_cast<std::size_t>(q.tensor.dtype)];
    Ref out = empty_strided(q, {q.tensor.sizes, rank}, {q.tensor.strides, rank}, dtype);
    if (out) return out;
  }
  return Ref(PyObject_CallOneArg(torch()->empty_like, q.object));
}

Ref torch_rows(const TensorView& q, Sizes sizes) {
  int64_t strides[3] = {1, 1, 1};
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  PyObject* dtype = torch()->dtypes[FLASHMOE_FP32];
  Ref rows = empty_strided(q, sizes, Sizes(strides, sizes.size()), dtype);
  return rows ? std::move(rows) : empty(q, sizes, dtype);
}

Ref torch_scratch(const TensorView& q, std::size_t bytes) {
  const int64_t size[] = {static_cast<int64_t>(bytes)};
  const int64_t stride[] = {1};
  Ref scratch = empty_strided(q, size, stride, torch()->uint8);
  return scratch ? std::move(scratch) : empty(q, size, torch()->uint8);
}

}  // namespace flashmoe_python
