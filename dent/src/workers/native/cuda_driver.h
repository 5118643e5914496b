// SPDX-License-Identifier: MIT
// Functions of the CUDA driver that a worker needs, loaded at run time: so one dent-worker runs on machines
// with and without a GPU, and builds without the toolkit. Kernels bring their own CUDA runtime; both use the
// device's primary context.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dent {

// Types and constants as documented for the CUDA driver API.
using CuPointer = std::uint64_t;
using CuStream = void*;
using CuEvent = void*;
using CuContext = void*;

struct CudaDriver {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*device_attribute)(int*, int, int);
  int (*primary_retain)(CuContext*, int);
  int (*set_current)(CuContext);
  int (*context_synchronize)();
  int (*allocate)(CuPointer*, std::size_t);
  int (*free)(CuPointer);
  int (*copy_in)(CuPointer, const void*, std::size_t);
  int (*copy_out)(void*, CuPointer, std::size_t);
  int (*copy_across_async)(CuPointer, CuPointer, std::size_t, CuStream);
  int (*fill_async)(CuPointer, unsigned char, std::size_t, CuStream);
  int (*stream_create)(CuStream*, unsigned);
  int (*stream_synchronize)(CuStream);
  int (*event_create)(CuEvent*, unsigned);
  int (*event_record)(CuEvent, CuStream);
  int (*event_synchronize)(CuEvent);
  int (*event_elapsed)(float*, CuEvent, CuEvent);
  int (*error_string)(int, const char**);
  int (*profiler_start)();  // tells an attached profiler which launches to profile
  int (*profiler_stop)();

  static CudaDriver load();                         // throws if there is no driver
  void check(int status, const char* doing) const;  // throws the driver's error text
};

}  // namespace dent
