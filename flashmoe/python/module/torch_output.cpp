// SPDX-License-Identifier: MIT
#include "torch_output.h"

#include <algorithm>
#include <array>

#include "torch_api.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

using Sizes = std::span<const int64_t>;

// (sizes, strides, dtype) as empty_strided() takes them, kept for the next call: the layers of a model ask
// for few shapes again and again.
Ref kept_arguments(Sizes sizes, Sizes strides, PyObject* dtype) {
  struct Entry {
    std::array<int64_t, 4> sizes, strides;
    std::size_t rank;
    PyObject* dtype;
    PyObject* arguments;
  };
  static std::array<Entry, 8> entries{};  // of q, k and their log-sum-exp; the oldest goes
  static std::size_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.dtype == dtype && std::ranges::equal(sizes, Sizes(entry.sizes.data(), entry.rank)) &&
        std::ranges::equal(strides, Sizes(entry.strides.data(), entry.rank)))
      return Ref::borrow(entry.arguments);
  }
  const Ref sizes_tuple = tuple_of(sizes), strides_tuple = tuple_of(strides);
  if (!sizes_tuple || !strides_tuple) return {};
  Ref arguments(PyTuple_Pack(3, sizes_tuple.get(), strides_tuple.get(), dtype));
  if (!arguments) return {};
  Entry& entry = entries[next];
  next = (next + 1) % entries.size();
  std::ranges::copy(sizes, entry.sizes.begin());
  std::ranges::copy(strides, entry.strides.begin());
  entry.rank = sizes.size();
  entry.dtype = dtype;
  const Ref oldest(std::exchange(entry.arguments, Ref::borrow(arguments.get()).release()));
  return arguments;
}

// Nothing, and no exception, where the shortcut does not lead to a tensor. q's device is the current one.
Ref empty_strided(const TensorView& q, Sizes sizes, Sizes strides, PyObject* dtype) {
  PyObject* function = torch()->empty_strided[static_cast<std::size_t>(q.device)];
  if (function == nullptr || torch()->exchange == nullptr) return {};
  const Ref arguments = kept_arguments(sizes, strides, dtype);
  if (!arguments) return {};
  Ref tensor(PyObject_Call(function, arguments.get(), nullptr));
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

// The view of a tensor that has been made with these sizes and strides: nothing but its address is news.
Ref viewed(Ref tensor, const TensorView& q, Sizes sizes, Sizes strides, int32_t dtype, TensorView& made) {
  if (!tensor) return {};
  made.object = tensor.get();
  made.library = Library::torch;
  made.device = q.device;
  made.device_index = q.device_index;
  made.tensor.dtype = dtype;
  std::ranges::copy(sizes, made.tensor.sizes);
  std::ranges::copy(strides, made.tensor.strides);
  return torch_data_pointer(made.object, made.tensor.data) ? std::move(tensor) : Ref();
}

}  // namespace

Ref torch_output(const TensorView& q, TensorView& made) {
  if (is_dense(q)) {
    const auto rank = static_cast<std::size_t>(q.form.rank);
    const Sizes sizes(q.tensor.sizes, rank), strides(q.tensor.strides, rank);
    PyObject* dtype = torch()->dtypes[static_cast<std::size_t>(q.tensor.dtype)];
    Ref out = empty_strided(q, sizes, strides, dtype);
    if (out) return viewed(std::move(out), q, sizes, strides, q.tensor.dtype, made);
  }
  Ref out(PyObject_CallOneArg(torch()->empty_like, q.object));
  return out && read_new_torch(out.get(), made) ? std::move(out) : Ref();
}

Ref torch_rows(const TensorView& q, Sizes sizes, TensorView& made) {
  int64_t dense[3] = {1, 1, 1};
  for (std::size_t i = sizes.size() - 1; i > 0; --i) dense[i - 1] = dense[i] * sizes[i];
  const Sizes strides(dense, sizes.size());
  PyObject* dtype = torch()->dtypes[FLASHMOE_FP32];
  Ref rows = empty_strided(q, sizes, strides, dtype);
  return viewed(rows ? std::move(rows) : empty(q, sizes, dtype), q, sizes, strides, FLASHMOE_FP32, made);
}

Ref torch_scratch(const TensorView& q, std::size_t bytes) {
  const int64_t size[] = {static_cast<int64_t>(bytes)};
  const int64_t stride[] = {1};
  Ref scratch = empty_strided(q, size, stride, torch()->uint8);
  return scratch ? std::move(scratch) : empty(q, size, torch()->uint8);
}

}  // namespace flashmoe_python
