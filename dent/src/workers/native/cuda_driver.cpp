// SPDX-License-Identifier: MIT
#include "workers/native/cuda_driver.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "workers/serve.h"

namespace dent {

CudaDriver CudaDriver::load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Refused(FailureKind::no_driver, "no CUDA driver on this machine (libcuda.so.1)");
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr)
      throw std::runtime_error(std::string("the CUDA driver has no ") + symbol + "; it is too old");
  };
  CudaDriver driver{};
  find(driver.init, "cuInit");
  find(driver.device_get, "cuDeviceGet");
  find(driver.device_attribute, "cuDeviceGetAttribute");
  find(driver.primary_retain, "cuDevicePrimaryCtxRetain");
  find(driver.set_current, "cuCtxSetCurrent");
  find(driver.context_synchronize, "cuCtxSynchronize");
  find(driver.allocate, "cuMemAlloc_v2");
  find(driver.free, "cuMemFree_v2");
  find(driver.copy_in, "cuMemcpyHtoD_v2");
  find(driver.copy_out, "cuMemcpyDtoH_v2");
  find(driver.copy_across_async, "cuMemcpyDtoDAsync_v2");
  find(driver.fill_async, "cuMemsetD8Async");
  find(driver.stream_create, "cuStreamCreate");
  find(driver.stream_synchronize, "cuStreamSynchronize");
  find(driver.event_create, "cuEventCreate");
  find(driver.event_record, "cuEventRecord");
  find(driver.event_synchronize, "cuEventSynchronize");
  find(driver.event_elapsed, "cuEventElapsedTime");
  find(driver.error_string, "cuGetErrorString");
  find(driver.profiler_start, "cuProfilerStart");
  find(driver.profiler_stop, "cuProfilerStop");
  return driver;
}

void CudaDriver::check(int status, const char* doing) const {
  if (status == 0) return;
  const char* words = nullptr;
  error_string(status, &words);
  throw std::runtime_error(std::string(doing) + ": " + (words != nullptr ? words : "unknown error") +
                           " (CUDA error " + std::to_string(status) + ")");
}

}  // namespace dent
