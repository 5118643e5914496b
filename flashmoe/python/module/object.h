// SPDX-License-Identifier: MIT
// Python objects from C++: an owning reference, interned names, and errors that return false.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <utility>

namespace flashmoe_python {

// Owns one reference, or none.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// A string that Python compares by address. One static per use; it lives as long as the process.
inline PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

inline Ref attribute(PyObject* object, PyObject* name) { return Ref(PyObject_GetAttr(object, name)); }

inline Ref call_method(PyObject* object, PyObject* name) {
  return Ref(PyObject_VectorcallMethod(name, &object, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

// A module that the program has imported already, or nothing: we never import one behind the caller's back.
inline Ref imported_module(const char* name) {
  return Ref::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), name));
}

// A tuple of integers.
inline Ref tuple_of(std::span<const int64_t> values) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; tuple && i < values.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(values[i]);
    if (number == nullptr) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

// Sets an exception, with the format of PyErr_Format; `return fail(...)` reads as what it is.
template <class... Values>
bool fail(PyObject* exception, const char* format, Values... values) {
  PyErr_Format(exception, format, values...);
  return false;
}

// Takes the current exception, if any, out of the way, and puts it back at the end of the scope, unless
// dropped.
class PendingException {
 public:
#if PY_VERSION_HEX >= 0x030C0000
  PendingException() : exception_(PyErr_GetRaisedException()) {}
  ~PendingException() {
    if (!dropped_) PyErr_SetRaisedException(exception_);
  }
  void drop() {
    Py_CLEAR(exception_);
    dropped_ = true;
  }

 private:
  PyObject* exception_;
#else
  PendingException() { PyErr_Fetch(&type_, &value_, &trace_); }
  ~PendingException() {
    if (!dropped_) PyErr_Restore(type_, value_, trace_);
  }
  void drop() {
    Py_CLEAR(type_);
    Py_CLEAR(value_);
    Py_CLEAR(trace_);
    dropped_ = true;
  }

 private:
  PyObject *type_, *value_, *trace_;
#endif
  bool dropped_ = false;
  PendingException(const PendingException&) = delete;
  PendingException& operator=(const PendingException&) = delete;
};

}  // namespace flashmoe_python
