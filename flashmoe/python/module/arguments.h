// SPDX-License-Identifier: MIT
// Arguments that are no tensors: what is accepted for each, and how it is refused.
#pragma once

#include "flashmoe/flashmoe.h"
#include "object.h"

namespace flashmoe_python {

bool is_flag(PyObject* object);  // bool, int or numpy.bool_

// `object` null or None leaves `value` as it is.
bool read_flag(PyObject* object, const char* name, bool& value);
bool read_count(PyObject* object, const char* name, int32_t& value);
bool read_threads(PyObject* object, int32_t& threads);  // 0, and not given: as num_threads.h says
bool read_scale(PyObject* object, const char* name, float& value, bool& given);
// None, or (left, right) with None or -1 for a side without a limit.
bool read_window(PyObject* object, flashmoe_window& window, bool& given);
bool read_mask(PyObject* object,
               int32_t& mask);  // False, True, "bottom_right", "top_left" -> FLASHMOE_MASK_*

}  // namespace flashmoe_python
