// SPDX-License-Identifier: MIT
// What a type written in C gives its objects, found once and then called without being looked up: a few
// nanoseconds instead of fifty. Anything that turns out not to be written in C goes the usual way.
#pragma once

#include "object.h"

namespace flashmoe_python {

class Attribute {
 public:
  Attribute() = default;
  // May be used for objects whose type is `type` or inherits from it without overriding `name`.
  Attribute(PyObject* type, const char* name) : name_(interned(name)) {
    PyObject* found = PyObject_GetAttr(type, name_);  // kept for as long as the process lives
    if (found == nullptr) PyErr_Clear();
    if (found != nullptr && Py_TYPE(found) == &PyGetSetDescr_Type)
      getter_ = reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
  }
  Ref operator()(PyObject* object) const {
    return getter_ != nullptr ? Ref(getter_->get(object, getter_->closure)) : attribute(object, name_);
  }

 private:
  PyObject* name_ = nullptr;
  const PyGetSetDef* getter_ = nullptr;
};

class Method {  // without arguments
 public:
  Method() = default;
  Method(PyObject* type, const char* name) : name_(interned(name)) {
    PyObject* found = PyObject_GetAttr(type, name_);
    if (found == nullptr) PyErr_Clear();
    if (found == nullptr || Py_TYPE(found) != &PyMethodDescr_Type) return;
    const PyMethodDef* method = reinterpret_cast<PyMethodDescrObject*>(found)->d_method;
    if (method->ml_flags == METH_NOARGS) function_ = method->ml_meth;
  }
  Ref operator()(PyObject* object) const {
    return function_ != nullptr ? Ref(function_(object, nullptr)) : call_method(object, name_);
  }

 private:
  PyObject* name_ = nullptr;
  PyCFunction function_ = nullptr;
};

class Function {  // of a module, without arguments
 public:
  Function() = default;
  explicit Function(PyObject* callable) : callable_(callable) {  // kept, or null
    if (callable == nullptr || !PyCFunction_CheckExact(callable)) return;
    if (PyCFunction_GET_FLAGS(callable) == METH_NOARGS) function_ = PyCFunction_GET_FUNCTION(callable);
  }
  explicit operator bool() const { return callable_ != nullptr; }
  Ref operator()() const {
    return Ref(function_ != nullptr ? function_(PyCFunction_GET_SELF(callable_), nullptr)
                                    : PyObject_CallNoArgs(callable_));
  }

 private:
  PyObject* callable_ = nullptr;
  PyCFunction function_ = nullptr;
};

}  // namespace flashmoe_python
