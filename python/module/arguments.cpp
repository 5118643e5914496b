// SPDX-License-Identifier: MIT
#include "arguments.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "flashmoe/flashmoe.h"

namespace flashmoe_python {

Signature::Signature(const char* name, std::initializer_list<const char*> parameters, std::size_t must,
                     std::size_t may)
    : function(name), required(must), positional(may) {
  for (const char* parameter : parameters) names.push_back(interned(parameter));
}

namespace {

std::size_t find_name(const std::vector<PyObject*>& names, PyObject* keyword) {
  const auto same = std::ranges::find(names, keyword);
  if (same != names.end()) return static_cast<std::size_t>(same - names.begin());
  std::size_t at = 0;  // not interned, as in f(**{text: value}) with a computed text
  while (at < names.size() && PyUnicode_Compare(keyword, names[at]) != 0) ++at;
  return at;
}

}  // namespace

bool parse_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     std::span<PyObject*> slots) {
  std::ranges::fill(slots, nullptr);
  if (static_cast<std::size_t>(nargs) > signature.positional) {
    return fail(PyExc_TypeError, "%s() takes at most %zu positional arguments (%zd given)",
                signature.function, signature.positional, nargs);
  }
  std::copy_n(args, nargs, slots.begin());
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(kwnames, i);
    const std::size_t at = find_name(signature.names, keyword);
    if (at == signature.names.size()) {
      return fail(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature.function,
                  keyword);
    }
    if (slots[at] != nullptr) {
      return fail(PyExc_TypeError, "%s() got multiple values for argument '%U'", signature.function, keyword);
    }
    slots[at] = args[nargs + i];
  }
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (slots[i] == nullptr) {
      return fail(PyExc_TypeError, "%s() is missing its argument '%U'", signature.function,
                  signature.names[i]);
    }
  }
  return true;
}

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
