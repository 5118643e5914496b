// SPDX-License-Identifier: MIT
// The memory layouts that the DLPack specification fixes, as far as this module reads them.
#pragma once

#include <cstdint>

namespace flashmoe_python::dlpack {

enum : int32_t { kDeviceCpu = 1, kDeviceCuda = 2, kDeviceCudaHost = 3 };
enum : uint8_t { kCodeInt = 0, kCodeFloat = 2, kCodeBfloat = 4, kCodeBool = 6 };
inline constexpr uint64_t kFlagReadOnly = 1;

struct Tensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;  // in elements; null means densely packed
  uint64_t byte_offset;
};

struct Version {
  uint32_t major, minor;
};

struct ManagedTensor {  // DLManagedTensorVersioned
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
  uint64_t flags;
  Tensor tensor;
};

// DLPackExchangeAPI: functions for the objects of one Python type, in a capsule that the type has as its
// attribute
// __dlpack_c_exchange_api__. Each gives 0, or -1 with a Python exception set. The header is the same in every
// major version; the functions may be missing.
struct ExchangeApi {
  Version version;
  const ExchangeApi* previous;  // of an older version, or null
  void* allocate;
  void* export_managed;
  void* import_managed;
  int (*read)(void* object, Tensor* tensor);  // borrows: valid while the object is; nothing is synchronised
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 80 && sizeof(ExchangeApi) == 56);

}  // namespace flashmoe_python::dlpack
