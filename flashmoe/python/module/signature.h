// SPDX-License-Identifier: MIT
// Arguments of a METH_FASTCALL | METH_KEYWORDS function, put by position or by name into the fields of a
// struct. A new argument is a field of that struct and a row in a table.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "object.h"

namespace flashmoe_python {

template <class Request>
struct Parameter {
  const char* name;
  PyObject* Request::*field;
};

// One static per function: its parameters in order. The first `required` must be given; those in `by_name`
// can't be given by position.
template <class Request>
class Signature {
 public:
  using Parameters = std::span<const Parameter<Request>>;
  Signature(const char* function, std::size_t required, std::initializer_list<Parameters> positional,
            Parameters by_name = {})
      : function_(function), required_(required) {
    for (const Parameters parameters : positional) add(parameters);
    positional_ = names_.size();
    add(by_name);
  }

  // Fills the fields of what was given with borrowed references. The others, null, stay as they are.
  bool parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Request& request) const {
    const auto given = static_cast<std::size_t>(nargs);
    if (given > positional_) {
      return fail(PyExc_TypeError, "%s() takes at most %zu positional arguments (%zu given)", function_,
                  positional_, given);
    }
    for (std::size_t i = 0; i < given; ++i) request.*fields_[i] = args[i];
    const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
      if (!take(PyTuple_GET_ITEM(kwnames, i), args[nargs + i], request)) return false;
    }
    for (std::size_t i = 0; i < required_; ++i) {
      if (request.*fields_[i] == nullptr)
        return fail(PyExc_TypeError, "%s() is missing its argument '%U'", function_, names_[i]);
    }
    return true;
  }

 private:
  void add(Parameters parameters) {
    for (const auto& parameter : parameters) {
      names_.push_back(interned(parameter.name));
      fields_.push_back(parameter.field);
    }
  }
  bool take(PyObject* keyword, PyObject* value, Request& request) const {
    const std::size_t at = find(keyword);
    if (at == names_.size())
      return fail(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function_, keyword);
    if (request.*fields_[at] != nullptr)
      return fail(PyExc_TypeError, "%s() got multiple values for argument '%U'", function_, keyword);
    request.*fields_[at] = value;
    return true;
  }
  std::size_t find(PyObject* keyword) const {
    const auto same = std::ranges::find(names_, keyword);
    if (same != names_.end()) return static_cast<std::size_t>(same - names_.begin());
    std::size_t at = 0;  // not interned, as in f(**{text: value}) with a computed text
    while (at < names_.size() && PyUnicode_Compare(keyword, names_[at]) != 0) ++at;
    return at;
  }

  const char* function_;
  std::size_t required_, positional_ = 0;
  std::vector<PyObject*> names_;  // interned, as the names in calls are: they can be compared by address
  std::vector<PyObject * Request::*> fields_;
};

}  // namespace flashmoe_python
