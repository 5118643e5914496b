// SPDX-License-Identifier: MIT
#include "arguments.h"

#include <climits>
#include <cstring>

#include "flashmoe/flashmoe.h"
#include "num_threads.h"

namespace flashmoe_python {

bool is_flag(PyObject* object) {
  if (PyLong_Check(object)) return true;  // bool is a subclass of int
  const char* type = Py_TYPE(object)->tp_name;
  return std::strcmp(type, "numpy.bool") == 0 || std::strcmp(type, "numpy.bool_") == 0;
}

bool read_flag(PyObject* object, const char* name, bool& value) {
  if (object == nullptr || object == Py_None) return true;
  if (!is_flag(object))
    return fail(PyExc_TypeError, "attention: %s is %R; accepted are True and False", name, object);
  const int truth = PyObject_IsTrue(object);
  value = truth == 1;
  return truth >= 0;
}

bool read_count(PyObject* object, const char* name, int32_t& value) {
  if (object == nullptr || object == Py_None) return true;
  if (!PyIndex_Check(object))
    return fail(PyExc_TypeError, "attention: %s is %R; it must be an integer", name, object);
  const long number = PyLong_AsLong(object);
  if (number == -1 && PyErr_Occurred()) return false;
  if (number < INT_MIN || number > INT_MAX) {
    return fail(PyExc_ValueError, "attention: %s is %ld; it must fit in 32 bits", name, number);
  }
  value = static_cast<int32_t>(number);
  return true;
}

bool read_threads(PyObject* object, int32_t& threads) {
  if (!read_count(object, "threads", threads)) return false;
  if (threads == 0) threads = num_threads();
  return true;
}

bool read_scale(PyObject* object, const char* name, float& value, bool& given) {
  given = object != nullptr && object != Py_None;
  if (!given) return true;
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return fail(PyExc_TypeError, "attention: %s is %R; accepted are a number and None (1/sqrt(head_dim))",
                name, object);
  }
  value = static_cast<float>(number);  // the library refuses what is not finite
  return true;
}

bool read_window(PyObject* object, flashmoe_window& window, bool& given) {
  given = object != nullptr && object != Py_None;
  if (!given) return true;
  const auto refuse = [&] {
    PyErr_Clear();
    return fail(PyExc_TypeError,
                "attention: window is %R; accepted are None and (left, right): integers, or None or -1 for a "
                "side without a limit",
                object);
  };
  const Ref sides(PySequence_Check(object) && !PyUnicode_Check(object) ? PySequence_Tuple(object) : nullptr);
  if (!sides || PyTuple_GET_SIZE(sides.get()) != 2) return refuse();
  int64_t* const values[] = {&window.left, &window.right};
  for (int i = 0; i < 2; ++i) {
    PyObject* side = PyTuple_GET_ITEM(sides.get(), i);
    if (side == Py_None) {
      *values[i] = FLASHMOE_UNLIMITED;
      continue;
    }
    if (!PyIndex_Check(side)) return refuse();
    *values[i] = PyLong_AsLongLong(side);
    if (PyErr_Occurred()) return refuse();
    if (*values[i] == -1) *values[i] = FLASHMOE_UNLIMITED;
  }
  return true;  // the library refuses what is negative
}

bool read_mask(PyObject* object, int32_t& mask) {
  if (object != nullptr && PyUnicode_Check(object)) {
    if (PyUnicode_CompareWithASCIIString(object, "bottom_right") == 0) {
      mask = FLASHMOE_MASK_CAUSAL;
    } else if (PyUnicode_CompareWithASCIIString(object, "top_left") == 0) {
      mask = FLASHMOE_MASK_CAUSAL_TOP_LEFT;
    } else {
      return fail(PyExc_ValueError,
                  "attention: causal is %R; accepted are False, True, 'bottom_right' (the same as True) and "
                  "'top_left'",
                  object);
    }
    return true;
  }
  bool causal = false;
  if (!read_flag(object, "causal", causal)) return false;
  mask = causal ? FLASHMOE_MASK_CAUSAL : FLASHMOE_MASK_NONE;
  return true;
}

}  // namespace flashmoe_python
