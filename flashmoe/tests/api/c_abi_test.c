/* SPDX-License-Identifier: MIT
 * The C header in a C compiler: attention of one query over two keys and its gradients, checked by hand, and
 * an error. */
#include "flashmoe/flashmoe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

static flashmoe_tensor dense(void* data, int64_t rows, int64_t head_dim) {
  flashmoe_tensor t = {0};
  t.data = data;
  t.dtype = FLASHMOE_FP32;
  t.sizes[0] = t.sizes[1] = 1;
  t.sizes[2] = rows;
  t.sizes[3] = head_dim;
  t.strides[0] = t.strides[1] = rows * head_dim;
  t.strides[2] = head_dim;
  t.strides[3] = 1;
  return t;
}

static int near(float actual, float expected) { return fabsf(actual - expected) < 1e-5f; }

/* Of out[0], where the weights are 1/4 and 3/4: ds = w (v - out) = (-3/2, 3/2). */
static void check_gradients(const flashmoe_forward_args* forward, void* workspace, size_t workspace_bytes) {
  float dout[2] = {1.0f, 0.0f};
  float dq[2], dk[4], dv[4];
  size_t bytes = 0;
  flashmoe_backward_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = forward->q;
  args.k = forward->k;
  args.v = forward->v;
  args.out = forward->out;
  args.lse = forward->lse;
  args.scale = forward->scale;
  args.dout = dense(dout, 1, 2);
  args.dq = dense(dq, 1, 2);
  args.dk = dense(dk, 2, 2);
  args.dv = dense(dv, 2, 2);
  CHECK(flashmoe_backward_workspace_bytes(&args, &bytes) == FLASHMOE_OK);
  CHECK(bytes <= workspace_bytes);
  CHECK(flashmoe_attention_backward(&args, workspace, workspace_bytes) == FLASHMOE_OK);
  CHECK(near(dq[0], 1.5f * 1.09861229f) && near(dq[1], 3.0f));
  CHECK(near(dk[0], -1.5f) && near(dk[1], 0.0f) && near(dk[2], 1.5f) && near(dk[3], 0.0f));
  CHECK(near(dv[0], 0.25f) && near(dv[1], 0.0f) && near(dv[2], 0.75f) && near(dv[3], 0.0f));
  args.lse = NULL;
  CHECK(flashmoe_attention_backward(&args, workspace, workspace_bytes) == FLASHMOE_INVALID_ARGUMENT);
}

int main(void) {
  float q[2] = {1.0f, 0.0f};
  float k[4] = {0.0f, 5.0f, 1.09861229f /* ln 3 */, 7.0f};
  float v[4] = {8.0f, -8.0f, 16.0f, -16.0f};
  float out[2] = {0};
  float lse = 0;
  float scale = 1.0f;
  static char space[1 << 20];
  char* aligned = space + (64 - (uintptr_t)space % 64) % 64;
  size_t bytes = 0;

  flashmoe_forward_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = dense(q, 1, 2);
  args.k = dense(k, 2, 2);
  args.v = dense(v, 2, 2);
  args.out = dense(out, 1, 2);
  args.lse = &lse;
  args.scale = &scale;
  args.threads = 1;

  CHECK(flashmoe_forward_workspace_bytes(&args, &bytes) == FLASHMOE_OK);
  CHECK(bytes <= sizeof space - 64);
  CHECK(flashmoe_attention_forward(&args, aligned, bytes) == FLASHMOE_OK);
  CHECK(strcmp(flashmoe_last_error(), "") == 0);
  /* Weights 1/4 and 3/4. */
  CHECK(fabsf(out[0] - 14.0f) < 1e-5f);
  CHECK(fabsf(out[1] + 14.0f) < 1e-5f);
  CHECK(fabsf(lse - 1.38629436f /* ln 4 */) < 1e-6f);

  check_gradients(&args, aligned, sizeof space - 64);

  args.mask = 9;
  CHECK(flashmoe_attention_forward(&args, aligned, bytes) == FLASHMOE_INVALID_ARGUMENT);
  CHECK(strstr(flashmoe_last_error(), "mask is 9") != NULL);

  CHECK(flashmoe_version() != NULL && strlen(flashmoe_version()) > 0);
  return failures == 0 ? 0 : 1;
}
