// SPDX-License-Identifier: MIT
// Included by every header of this folder: a primitive without a model version must not get into a kernel
// that is compiled for the model.
#ifdef FLASHMOE_MODEL
#error \
    "this primitive is not modelled: flashmoe/src/primitives/model needs a twin of it, and its header in flashmoe/src/primitives has to choose"
#endif
