// SPDX-License-Identifier: MIT
#include "dropout.h"

#include "results.h"
#include "torch_tensor.h"

namespace flashmoe_python {
namespace {

bool read_probability(PyObject* object, float& p) {
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return fail(PyExc_TypeError, "attention: dropout_p is %R; accepted are a number and None (none)", object);
  }
  if (!(number >= 0 && number < 1)) {
    return fail(PyExc_ValueError,
                "attention: dropout_p is %R; it must be a probability, from 0 to less than 1", object);
  }
  p = static_cast<float>(number);
  return true;
}

// Any integer, as its last 64 bits.
bool read_seed(PyObject* object, uint64_t& seed) {
  if (!given(object)) {
    return fail(
        PyExc_ValueError,
        "attention: dropout_p is given without dropout_seed, which only attention() of PyTorch tensors "
        "draws\n"
        "  try: dropout_seed=, another integer for each forward pass, and the same for its backward pass");
  }
  const Ref number(PyNumber_Index(object));
  if (!number) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Clear();
    return fail(PyExc_TypeError, "attention: dropout_seed is %R; it must be an integer, or a tensor of one",
                object);
  }
  seed = PyLong_AsUnsignedLongLongMask(number.get());
  return PyErr_Occurred() == nullptr;
}

}  // namespace

bool DropoutRequest::has_dropout() const {
  if (!given(dropout_p)) return false;
  const int truth = PyObject_IsTrue(dropout_p);
  if (truth < 0) PyErr_Clear();  // no number: refused where it is read
  return truth != 0;
}

bool read_dropout(const DropoutRequest& request, flashmoe_dropout& dropout, const flashmoe_dropout*& to) {
  if (!request.has_dropout()) return true;
  if (!read_probability(request.dropout_p, dropout.p) || !read_seed(request.dropout_seed, dropout.seed))
    return false;
  to = &dropout;
  return true;
}

bool draw_seed(PyObject* q, DropoutRequest& request, Ref& seed) {
  if (!request.has_dropout()) return true;
  float p = 0;
  if (!read_probability(request.dropout_p, p)) return false;  // before the generator is another one
  const bool has_number = given(request.dropout_seed) && PyIndex_Check(request.dropout_seed);
  if (has_number || !is_torch_tensor(q)) return true;
  const Ref module(PyImport_ImportModule("flashmoe_science._dropout"));
  if (!module) return false;
  PyObject* generator = request.dropout_seed == nullptr ? Py_None : request.dropout_seed;
  seed = Ref(PyObject_CallMethod(module.get(), "drawn_seed", "O", generator));
  request.dropout_seed = seed.get();
  return static_cast<bool>(seed);
}

}  // namespace flashmoe_python
