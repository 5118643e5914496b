/* SPDX-License-Identifier: MIT
 * What a kernel in a shared library looks like to dent: one C function.
 *
 *   #include <dent/kernel.h>
 *   int softmax(const dent_call* call) {
 *     const float* x = (const float*)call->inputs[0].data;
 *     float* y = (float*)call->outputs[0].data;
 *     int64_t rows = call->inputs[0].sizes[0];
 *     ...
 *     return 0;
 *   }
 *
 * Inputs and outputs come in the order of the manifest, dense, aligned to 64 bytes; scratch buffers come
 * behind the outputs. Inputs must not be written. The function returns 0, or anything else for "I can't do
 * this". It is called from one thread at a time; on a GPU it launches on call->stream and need not wait.
 * Fields are only ever added at the end: check struct_size.
 *
 * What a kernel makes of its constant inputs before it is used, as a layer packs its weights, need not be in
 * its time. Where the manifest names a second function, setup = "pack",
 *
 *   int pack(const dent_call* call, void** setup);
 *
 * it is called once for each set of them, outside the clock. It gets the constant inputs alone, in their
 * order and only until it returns, the numbers and the stream, and no outputs. What it leaves in *setup is
 * call->setup in every call that follows; when it is called again, *setup still has what it left before. */
#ifndef DENT_KERNEL_H
#define DENT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DENT_CPU = 0, DENT_CUDA = 1 };
enum { DENT_FP64 = 0, DENT_FP32 = 1, DENT_FP16 = 2, DENT_BF16 = 3, DENT_INT32 = 4, DENT_INT64 = 5 };
enum { DENT_INT8 = 6, DENT_UINT8 = 7, DENT_BOOL = 8, DENT_FP8_E4M3 = 9, DENT_FP8_E5M2 = 10 };

typedef struct dent_tensor {
  const char* name;
  void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes; /* rank of them */
} dent_tensor;

typedef struct dent_number { /* a dimension (B, H, S, ...) or a parameter (causal, scale) of the problem */
  const char* name;
  double value;
} dent_number;

typedef struct dent_call {
  size_t struct_size;
  int32_t device;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_numbers;
  const dent_tensor* inputs;
  const dent_tensor* outputs;
  const dent_number* numbers;
  void* stream; /* CUDA: the cudaStream_t to launch on */
  void* setup;  /* what the setup function left; NULL without one */
} dent_call;

typedef int (*dent_entry)(const dent_call* call);
typedef int (*dent_setup)(const dent_call* call, void** setup);

#ifdef __cplusplus
}
#endif
#endif
