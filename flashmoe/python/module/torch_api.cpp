// SPDX-License-Identifier: MIT
#include "torch_api.h"

#include <algorithm>

namespace flashmoe_python {
namespace {

// What lies at the end of a path of attributes; null, and no exception, if it ends earlier.
PyObject* find(PyObject* from, std::initializer_list<const char*> path) {
  Ref at = Ref::borrow(from);
  for (const char* name : path) at = Ref(at ? PyObject_GetAttrString(at.get(), name) : nullptr);
  PyErr_Clear();
  return at.release();
}

// The version of the exchange API that we know, which a newer one links to.
const dlpack::ExchangeApi* find_exchange(PyObject* tensor_type) {
  constexpr const char* kName = "dlpack_exchange_api";
  const Ref capsule(find(tensor_type, {"__dlpack_c_exchange_api__"}));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), kName)) return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), kName));
  while (api != nullptr && api->version.major != 1) api = api->previous;
  const bool complete = api != nullptr && api->version.minor >= 3 && api->read && api->current_stream;
  return complete ? api : nullptr;
}

}  // namespace

const Torch* found_torch = nullptr;

const Torch* find_torch() {
  static Torch api;
  const Ref module = imported_module("torch");
  if (!module) return nullptr;
  const auto get = [&](std::initializer_list<const char*> path) { return find(module.get(), path); };
  api.tensor = get({"Tensor"});
  api.parameter = get({"nn", "Parameter"});
  api.dtypes = {get({"float32"}), get({"float16"}), get({"bfloat16"})};
  api.uint8 = get({"uint8"});
  api.int32 = get({"int32"});
  api.boolean = get({"bool"});
  api.strided = get({"strided"});
  api.empty = get({"empty"});
  api.empty_like = get({"empty_like"});
  api.is_grad_enabled = Function(get({"is_grad_enabled"}));
  const bool known = api.tensor && api.parameter &&
                     std::ranges::all_of(api.dtypes, [](auto* d) { return d != nullptr; }) && api.uint8 &&
                     api.int32 && api.boolean && api.strided && api.empty && api.empty_like &&
                     api.is_grad_enabled;
  if (!known) return nullptr;  // half imported
  api.requires_grad = Attribute(api.tensor, "requires_grad");
  api.is_neg = Method(api.tensor, "is_neg");
  api.data_ptr = Method(api.tensor, "data_ptr");
  api.numel = Method(api.tensor, "numel");
  api.has_operators = static_cast<bool>(Ref(get({"library", "register_autograd"})));
  if (api.has_operators) {
    api.is_any_autocast_enabled = Function(get({"_C", "_is_any_autocast_enabled"}));
    api.num_dispatch_modes = Function(get({"_C", "_len_torch_dispatch_stack"}));
    api.are_transforms_active = Function(get({"_C", "_are_functorch_transforms_active"}));
    const Ref forward_ad(get({"autograd", "forward_ad"}));
    if (forward_ad && PyModule_Check(forward_ad.get())) api.forward_ad = PyModule_GetDict(forward_ad.get());
    api.is_functorch_wrapped = get({"_C", "_functorch", "is_functorch_wrapped_tensor"});
  }
  api.cuda_device_count = get({"_C", "_cuda_getDeviceCount"});
  api.cuda_get_device = get({"_C", "_cuda_getDevice"});
  api.cuda_set_device = get({"_C", "_cuda_setDevice"});
  api.cuda_current_stream = get({"_C", "_cuda_getCurrentRawStream"});
  api.exchange = find_exchange(api.tensor);
  api.empty_strided = {get({"_C", "_dynamo", "guards", "_empty_strided_cpu"}),
                       get({"_C", "_dynamo", "guards", "_empty_strided_cuda"})};
  return found_torch = &api;
}

}  // namespace flashmoe_python
