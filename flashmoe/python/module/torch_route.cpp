// SPDX-License-Identifier: MIT
#include "torch_route.h"

#include "torch_api.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

// False where the question can't be asked.
template <class Is>
bool answers(const Function& function, Is is) {
  if (!function) return false;
  const Ref answer = function();
  if (!answer) PyErr_Clear();
  return answer && is(answer.get());
}

// torch.jit.trace: sizes are tensors then.
bool is_traced(PyObject* tensor) {
  const Ref count = torch()->numel(tensor);
  if (!count) PyErr_Clear();
  return count && !PyLong_Check(count.get());
}

// Inside torch.autograd.forward_ad.dual_level.
bool forward_ad_is_active() {
  static PyObject* const name = interned("_current_level");
  if (torch()->forward_ad == nullptr) return false;
  PyObject* level = PyDict_GetItemWithError(torch()->forward_ad, name);
  return level != nullptr && PyLong_Check(level) && PyLong_AsLong(level) >= 0;
}

bool has_own_dispatch(PyObject* tensor) {
  const Ref own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(tensor)), "__torch_dispatch__"));
  const Ref plain(PyObject_GetAttrString(torch()->tensor, "__torch_dispatch__"));
  PyErr_Clear();
  return own && plain && own.get() != plain.get();
}

}  // namespace

bool torch_watches(PyObject* tensor) {
  if (!torch()->has_operators) return false;
  const auto some = [](PyObject* answer) { return PyLong_Check(answer) && PyLong_AsLong(answer) > 0; };
  return answers(torch()->num_dispatch_modes, some) || forward_ad_is_active() || is_traced(tensor);
}

bool torch_autocasts() {
  return answers(torch()->is_any_autocast_enabled, [](PyObject* answer) { return answer == Py_True; });
}

bool torch_transforms() {
  return !answers(torch()->are_transforms_active, [](PyObject* answer) { return answer == Py_False; });
}

bool torch_wraps(PyObject* tensor) {
  const PendingException kept;
  if (!is_torch_tensor(tensor) || !torch()->has_operators) return false;
  if (has_own_dispatch(tensor)) return true;
  if (torch()->is_functorch_wrapped == nullptr) return false;
  const Ref wrapped(PyObject_CallOneArg(torch()->is_functorch_wrapped, tensor));
  PyErr_Clear();
  return wrapped.get() == Py_True;
}

}  // namespace flashmoe_python
