// SPDX-License-Identifier: MIT
// How many CPU threads calls use that do not say: FLASHMOE_NUM_THREADS, then what set_num_threads was told.
#pragma once

#include "object.h"

namespace flashmoe_python {

bool read_num_threads_of_environment();  // once, when the module is loaded

int num_threads();  // 0 = every core this process may use
bool set_num_threads(PyObject* count);

}  // namespace flashmoe_python
