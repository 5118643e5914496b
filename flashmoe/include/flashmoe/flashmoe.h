/* SPDX-License-Identifier: MIT
 * The C interface. Plain structs, each with its size as first field, so that a program built against an older
 * header keeps working with a newer library: fields are only ever added at the end, zero keeps the old
 * meaning. Every function returns a status; flashmoe_last_error() has the message of the calling thread's
 * last call. */
#ifndef FLASHMOE_FLASHMOE_H
#define FLASHMOE_FLASHMOE_H

#include <stddef.h>
#include <stdint.h>

#include "flashmoe/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum flashmoe_status {
  FLASHMOE_OK = 0,
  FLASHMOE_INVALID_ARGUMENT = 1,
  FLASHMOE_UNSUPPORTED = 2,
  FLASHMOE_WORKSPACE = 3,
  FLASHMOE_BACKEND = 4,
  FLASHMOE_INTERNAL = 5,
  FLASHMOE_CANCELLED = 6
} flashmoe_status;

enum { FLASHMOE_FP32 = 0, FLASHMOE_FP16 = 1, FLASHMOE_BF16 = 2 };                             /* dtype */
enum { FLASHMOE_MASK_NONE = 0, FLASHMOE_MASK_CAUSAL = 1, FLASHMOE_MASK_CAUSAL_TOP_LEFT = 2 }; /* mask */
enum { FLASHMOE_DEVICE_CPU = 0, FLASHMOE_DEVICE_CUDA = 1 };                                   /* device */

/* [batch, heads, rows, head_dim]; strides in elements, the last one 1. Every size but head_dim may be 0. */
typedef struct flashmoe_tensor {
  void* data;
  int32_t dtype;
  int32_t reserved; /* 0 */
  int64_t sizes[4];
  int64_t strides[4];
} flashmoe_tensor;

/* How far a query row sees from its own position: from `left` keys before it to `right` keys behind it, each
 * 0 or more. */
typedef struct flashmoe_window {
  int64_t left, right;
} flashmoe_window;

/* A side that is not limited. */
#define FLASHMOE_UNLIMITED INT64_MAX

/* Sequences of different lengths in one call, in the memory of the device that computes. A side (q, or k and
 * v) is packed where its starts are given: its tensors are [1, H, total, D], and sequence b is the rows from
 * starts[b] to starts[b + 1]. Otherwise its tensors are [sequences, H, S, D], and sequence b is entry b. Only
 * the first used[b] rows of a sequence count, where that is given. Mask and window count within each
 * sequence. Rows that belong to no sequence, or don't count: outputs and gradients 0, lse -inf. */
typedef struct flashmoe_lengths {
  const int32_t *q_starts, *k_starts; /* [sequences + 1], never falling; or NULL */
  const int32_t *q_used, *k_used;     /* [sequences]; or NULL */
  int64_t sequences;
  int64_t longest_q, longest_k; /* hints: no result depends on them; 0 = not known */
} flashmoe_lengths;

/* Masks by name, beside mask and window, in the memory of the device that computes: a key is seen where all
 * of them let it be. */
typedef struct flashmoe_spans {
  const int32_t*
      documents; /* [B or 1, Skv]: rows see the document at their position, a run of equal numbers */
  int64_t documents_stride;    /* elements from one batch entry to the next; 0: all have the same */
  const int32_t* prefix;       /* [B]: so many first keys are seen by the rows before them too */
  const int32_t* left_padding; /* [B]: so many first keys are seen by no row */
  int64_t chunk;               /* rows see keys of their own chunk of so many positions; 0: no chunks */
  int64_t first_keys;          /* so many keys at the beginning are seen whatever window and chunk hide */
} flashmoe_spans;

/* One value for each query row and key of each head, [B, Hq, Sq, Skv]: what is added to the score; or, for
 * FLASHMOE_BOOLEAN, a byte that hides the key where it is 0. */
enum { FLASHMOE_BOOLEAN = 3 }; /* type, beside those of dtype */
typedef struct flashmoe_pair_tensor {
  const void* data;
  int32_t type;
  int32_t reserved;   /* 0 */
  int64_t strides[4]; /* in elements; 0 where all share one */
} flashmoe_pair_tensor;

/* The gradient of a pair tensor that is added. Every pair of query row and key adds to one element: an
 * element that several pairs share, by strides of 0, is their sum. */
typedef struct flashmoe_pair_gradient {
  float* data;
  int64_t strides[4]; /* in elements, for [B, Hq, Sq, Skv]; the last one is 0 or 1 */
} flashmoe_pair_gradient;

/* How scores change between scale * q k^T and the softmax: first the cap, then the slopes, then the mask. The
 * arrays lie in the memory of the device that computes. */
typedef struct flashmoe_scores {
  float softcap;               /* above 0: a score s becomes softcap * tanh(s / softcap); 0 = none */
  int32_t reserved;            /* 0 */
  const float* alibi_slopes;   /* [Hq] or [B, Hq]: a key loses slope * its distance from the row; or NULL */
  int64_t slopes_batch_stride; /* floats from one batch entry, or sequence, to the next; 0: [Hq] */
  const float* sinks; /* [Hq]: one more score in each row's softmax, of a key without a value; or NULL */
  const flashmoe_pair_tensor* attn_mask; /* NULL = none */
} flashmoe_scores;

/* Weights of the softmax that training leaves out at random: each with probability p, the others divided by
 * 1 - p. Which ones, the seed and a pair's place decide alone: the backward pass wants the forward's seed. */
typedef struct flashmoe_dropout {
  float p;          /* 0 to 1, in steps of 2^-16 */
  int32_t reserved; /* 0 */
  uint64_t seed;
} flashmoe_dropout;

typedef struct flashmoe_forward_args {
  size_t struct_size; /* sizeof(flashmoe_forward_args) */
  flashmoe_tensor q, k, v, out;
  float* lse; /* [B, Hq, Sq] dense, or NULL */
  int32_t mask;
  int32_t device;
  const float* scale;          /* NULL = 1/sqrt(head_dim) */
  void* stream;                /* CUDA: cudaStream_t */
  int32_t threads;             /* CPU: 0 = every core this process may use */
  int32_t programmatic_launch; /* CUDA: 1 = may start while the kernel before it on the stream still runs; 0 =
                                  not */
  const flashmoe_window* window;   /* beside the mask; NULL = none */
  const flashmoe_lengths* lengths; /* NULL = none: all rows of all batch entries count */
  const flashmoe_spans* spans;     /* NULL = none */
  const flashmoe_scores* scores;   /* NULL = as they are */
  const flashmoe_dropout* dropout; /* NULL = none */
  const int32_t*
      cancel; /* CPU: once it is not 0 the call ends soon, with FLASHMOE_CANCELLED; outputs are then
                 in part not written. Set by another thread or a signal's handler. NULL = none */
} flashmoe_forward_args;

FLASHMOE_API flashmoe_status flashmoe_forward_workspace_bytes(const flashmoe_forward_args* args,
                                                              size_t* bytes);

/* workspace: 64-byte aligned, at least as large as the query says. */
FLASHMOE_API flashmoe_status flashmoe_attention_forward(const flashmoe_forward_args* args, void* workspace,
                                                        size_t workspace_bytes);

/* Gives `bytes` bytes of workspace, 64-byte aligned, in the memory of the device that computes; NULL if there
 * are none. Must not call this library or throw. */
typedef void* (*flashmoe_allocate)(void* context, size_t bytes);

/* The same as the query and the call above, planned once. `allocate` is called at most once, by this thread,
 * after every check and before anything is written; not at all if no workspace is needed. */
FLASHMOE_API flashmoe_status flashmoe_attention_forward_with(const flashmoe_forward_args* args,
                                                             flashmoe_allocate allocate, void* context);

/* Writes up to `capacity` bytes, always with a final zero; `*needed` (may be NULL) gets the full length plus
 * one. */
FLASHMOE_API flashmoe_status flashmoe_explain_forward(const flashmoe_forward_args* args, char* text,
                                                      size_t capacity, size_t* needed);

/* Gradients of q, k and v from those of out (dout) and of lse (dlse). */
typedef struct flashmoe_backward_args {
  size_t struct_size; /* sizeof(flashmoe_backward_args) */
  flashmoe_tensor q, k, v;
  flashmoe_tensor out; /* as flashmoe_attention_forward left it */
  flashmoe_tensor dout;
  flashmoe_tensor dq, dk, dv; /* written; they share no byte with anything else */
  const float* lse;           /* [B, Hq, Sq] dense, as flashmoe_attention_forward left it; never NULL */
  const float* dlse;          /* [B, Hq, Sq] dense, or NULL for 0 */
  int32_t mask;
  int32_t device;
  const float* scale;    /* NULL = 1/sqrt(head_dim) */
  void* stream;          /* CUDA: cudaStream_t */
  int32_t threads;       /* CPU: 0 = every core this process may use */
  int32_t deterministic; /* 1 = the same arguments give the same bits; 0 = dq may differ in its last ones */
  const flashmoe_window* window;   /* as for the forward */
  const flashmoe_lengths* lengths; /* as for the forward */
  const flashmoe_spans* spans;     /* as for the forward */
  const flashmoe_scores* scores;   /* as for the forward */
  float* dsinks;                   /* [Hq]: gradients of the sinks, over all rows; NULL = not wanted */
  const flashmoe_pair_gradient* dattn_mask; /* of scores->attn_mask, where that is added; NULL = not wanted */
  const flashmoe_dropout* dropout;          /* as for the forward, with its seed */
  const int32_t* cancel;                    /* as for the forward */
} flashmoe_backward_args;

FLASHMOE_API flashmoe_status flashmoe_backward_workspace_bytes(const flashmoe_backward_args* args,
                                                               size_t* bytes);

/* workspace: 64-byte aligned, at least as large as the query says. */
FLASHMOE_API flashmoe_status flashmoe_attention_backward(const flashmoe_backward_args* args, void* workspace,
                                                         size_t workspace_bytes);

/* The same as the query and the call above, planned once, as flashmoe_attention_forward_with. */
FLASHMOE_API flashmoe_status flashmoe_attention_backward_with(const flashmoe_backward_args* args,
                                                              flashmoe_allocate allocate, void* context);

/* As flashmoe_explain_forward. */
FLASHMOE_API flashmoe_status flashmoe_explain_backward(const flashmoe_backward_args* args, char* text,
                                                       size_t capacity, size_t* needed);

/* What was wrong with this thread's last call; "" if it succeeded. Valid until the thread's next call. */
FLASHMOE_API const char* flashmoe_last_error(void);

FLASHMOE_API const char* flashmoe_version(void);

#ifdef __cplusplus
}
#endif
#endif
