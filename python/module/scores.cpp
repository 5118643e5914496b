// SPDX-License-Identifier: MIT
#include "scores.h"

#include "arguments.h"
#include "results.h"

namespace flashmoe_python {
namespace {

constexpr Form kOfHeads{1, "[query heads]"};
constexpr Form kOfHeadsOfEach{2, "[batch, query heads]"};

// Of slopes: 2 where they say so.
int rank_of(PyObject* object) {
  const Ref rank(PyObject_GetAttrString(object, "ndim"));
  if (!rank || !PyLong_Check(rank.get())) {
    PyErr_Clear();
    return 1;
  }
  return PyLong_AsLong(rank.get()) == 2 ? 2 : 1;
}

// float32, of the query heads, contiguous along them.
bool read_heads(PyObject* object, const char* name, const Form& form, const TensorView& q, TensorView& view,
                const float*& data) {
  if (!given(object)) return true;
  if (!read_tensor(object, name, form, view) || !check_same_device(view, q)) return false;
  const flashmoe_tensor& t = view.tensor;
  if (t.dtype != FLASHMOE_FP32) {
    return fail(PyExc_TypeError, "attention: %s must be float32, whatever the type of q\n  try: %s.float()",
                name, name);
  }
  const auto heads = static_cast<long long>(q.of_batch().sizes[1]);
  const int last = form.rank - 1;
  if (t.sizes[last] != heads || (heads > 1 && t.strides[last] != 1)) {
    return fail(
        PyExc_ValueError,
        "attention: %s has %lld elements with stride %lld along the heads; it must have the %lld of q's "
        "heads, contiguous",
        name, static_cast<long long>(t.sizes[last]), static_cast<long long>(t.strides[last]), heads);
  }
  data = static_cast<const float*>(t.data);
  return true;
}

bool read_cap(PyObject* object, float& cap) {
  if (!given(object)) return true;
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return fail(PyExc_TypeError, "attention: softcap is %R; accepted are a number and None (none)", object);
  }
  cap = static_cast<float>(number);  // the library refuses what can't be right
  return true;
}

}  // namespace

bool ScoresRequest::has_scores() const { return given(softcap) || given(alibi_slopes) || given(sinks); }

Ref ScoresRequest::scores_as_tuple() const {
  const auto or_none = [](PyObject* object) { return object == nullptr ? Py_None : object; };
  return Ref(PyTuple_Pack(3, or_none(softcap), or_none(alibi_slopes), or_none(sinks)));
}

bool read_scores(const ScoresRequest& request, const TensorView& q, int64_t entries,
                 std::optional<ScoresViews>& views, const flashmoe_scores*& to) {
  if (!request.has_scores()) return true;
  auto& [slopes, sinks, scores] = views.emplace();
  const bool of_each = given(request.alibi_slopes) && rank_of(request.alibi_slopes) == 2;
  if (!read_cap(request.softcap, scores.softcap) ||
      !read_heads(request.alibi_slopes, "alibi_slopes", of_each ? kOfHeadsOfEach : kOfHeads, q, slopes,
                  scores.alibi_slopes) ||
      !read_heads(request.sinks, "sinks", kOfHeads, q, sinks, scores.sinks)) {
    return false;
  }
  if (of_each) {
    if (slopes.tensor.sizes[0] != entries) {
      return fail(PyExc_ValueError,
                  "attention: alibi_slopes is for %lld batch entries or sequences, of which there are %lld",
                  static_cast<long long>(slopes.tensor.sizes[0]), static_cast<long long>(entries));
    }
    scores.slopes_batch_stride = entries > 1 ? slopes.tensor.strides[0] : 0;
  }
  to = &scores;
  return true;
}

}  // namespace flashmoe_python
