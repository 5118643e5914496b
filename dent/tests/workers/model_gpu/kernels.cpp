// SPDX-License-Identifier: MIT
// y = 2 x on the model of a driver: one honest version, and versions that would look fast in a graph.
#include <dent/kernel.h>

#include <set>

extern "C" {
#define ENTRY __attribute__((visibility("default")))

int model_gpu_scale(void* stream, const float* x, float* y, int64_t n);
void model_gpu_leave_behind(void* stream);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);

static int scale_on(void* stream, const dent_call* call) {
  return model_gpu_scale(stream, static_cast<const float*>(call->inputs[0].data),
                         static_cast<float*>(call->outputs[0].data), call->inputs[0].sizes[0]);
}

ENTRY int honest(const dent_call* call) { return scale_on(call->stream, call); }

ENTRY int queues_nothing(const dent_call*) { return 0; }

// Computes only in the first call for each output, and reuses its result later.
ENTRY int remembers_by_pointer(const dent_call* call) {
  static std::set<const void*> seen;
  return seen.insert(call->outputs[0].data).second ? scale_on(call->stream, call) : 0;
}

// Nothing is part of the graph: the work would be done before the graph is timed.
ENTRY int works_on_another_stream(const dent_call* call) {
  static void* side = nullptr;
  if (side == nullptr) cuStreamCreate(&side, 1);
  return scale_on(side, call);
}

ENTRY int leaves_work_behind(const dent_call* call) {
  model_gpu_leave_behind(call->stream);
  return scale_on(call->stream, call);
}

ENTRY int waits_for_the_gpu(const dent_call* call) {
  const int status = scale_on(call->stream, call);
  cuStreamSynchronize(call->stream);
  return status;
}

// Queued on a separate stream without waiting for it.
ENTRY int doubles(const dent_call* call, void** setup) {
  static void* side = nullptr;
  if (side == nullptr) cuStreamCreate(&side, 1);
  const auto n = call->inputs[0].sizes[0];
  if (*setup == nullptr) *setup = new float[n];
  return model_gpu_scale(side, static_cast<const float*>(call->inputs[0].data), static_cast<float*>(*setup),
                         n);
}

ENTRY int doubles_again(const dent_call* call) {
  return model_gpu_scale(call->stream, static_cast<const float*>(call->setup),
                         static_cast<float*>(call->outputs[0].data), call->outputs[0].sizes[0]);
}

// Two of three calls also do the work of other calls.
ENTRY int works_for_others(const dent_call* call) {
  static const dent_call* before = nullptr;
  static int calls = 0;
  if (++calls % 2 == 1) return before = call, 0;
  return scale_on(call->stream, before) + scale_on(call->stream, call);
}
}
