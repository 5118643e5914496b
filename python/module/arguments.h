// SPDX-License-Identifier: MIT
// Arguments of a METH_FASTCALL | METH_KEYWORDS function, put into slots by position or by name.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "object.h"

namespace flashmoe_python {

// One static per function: names of all parameters in order, of which the first `required` must be given and
// the first `positional` may be given by position.
class Signature {
 public:
  Signature(const char* function, std::initializer_list<const char*> names, std::size_t required,
            std::size_t positional);

  const char* function;
  std::vector<PyObject*> names;  // interned, as the names in calls are: they can be compared by address
  std::size_t required;
  std::size_t positional;
};

// Fills `slots` (one per name) with borrowed references; parameters that were not given stay null.
bool parse_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     std::span<PyObject*> slots);

bool is_flag(PyObject* object);  // bool, int or numpy.bool_

// `object` null or None leaves `value` as it is.
bool read_flag(PyObject* object, const char* name, bool& value);
bool read_count(PyObject* object, const char* name, int32_t& value);
bool read_scale(PyObject* object, const char* name, float& value, bool& given);
bool read_mask(PyObject* object,
               int32_t& mask);  // False, True, "bottom_right", "top_left" -> FLASHMOE_MASK_*

}  // namespace flashmoe_python
