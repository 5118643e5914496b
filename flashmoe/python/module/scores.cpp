// SPDX-License-Identifier: MIT
#include "scores.h"

#include <algorithm>

#include "arguments.h"
#include "results.h"

namespace flashmoe_python {
namespace {

constexpr Form kOfHeads{1, "[query heads]"};
constexpr Form kOfHeadsOfEach{2, "[batch, query heads]"};

// As many as it says, or 1.
int dimensions_of(PyObject* object) {
  const Ref rank(PyObject_GetAttrString(object, "ndim"));
  if (!rank || !PyLong_Check(rank.get())) {
    PyErr_Clear();
    return 1;
  }
  return static_cast<int>(PyLong_AsLong(rank.get()));
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

bool ScoresRequest::has_scores() const {
  return given(softcap) || given(alibi_slopes) || given(sinks) || given(attn_mask);
}

Form form_of_pairs(PyObject* object, Elements elements) {
  return {std::clamp(dimensions_of(object), 1, 4),
          "[batch, query heads, query rows, keys], or the last of these", elements};
}

bool broadcast_pairs(const TensorView& view, const TensorView& q, const TensorView& k,
                     int64_t (&strides)[4]) {
  const flashmoe_tensor of_q = q.of_batch();
  const int64_t pairs[] = {of_q.sizes[0], of_q.sizes[1], of_q.sizes[2], k.of_batch().sizes[2]};
  const int missing = 4 - view.form.rank;
  for (int i = 0; i < 4; ++i) {
    const int own = i - missing;
    const int64_t size = own < 0 ? 1 : view.tensor.sizes[own];
    strides[i] = size == 1 ? 0 : view.tensor.strides[own];
    if (size == 1 || size == pairs[i]) continue;
    return fail(PyExc_ValueError,
                "attention: %s has size %lld in dimension %d; it must be 1 or %lld, to be broadcast to "
                "[batch, query heads, query rows, keys] = [%lld, %lld, %lld, %lld]",
                view.name, static_cast<long long>(size), own, static_cast<long long>(pairs[i]),
                static_cast<long long>(pairs[0]), static_cast<long long>(pairs[1]),
                static_cast<long long>(pairs[2]), static_cast<long long>(pairs[3]));
  }
  return true;
}

bool read_scores(const ScoresRequest& request, const TensorView& q, const TensorView& k, int64_t entries,
                 std::optional<ScoresViews>& views, const flashmoe_scores*& to) {
  if (!request.has_scores()) return true;
  auto& [slopes, sinks, attn_mask, pairs, scores] = views.emplace();
  const bool of_each = given(request.alibi_slopes) && dimensions_of(request.alibi_slopes) == 2;
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
  if (given(request.attn_mask)) {
    const Form form = form_of_pairs(request.attn_mask, Elements::floats_or_bool);
    if (!read_tensor(request.attn_mask, "attn_mask", form, attn_mask) || !check_same_device(attn_mask, q) ||
        !broadcast_pairs(attn_mask, q, k, pairs.strides)) {
      return false;
    }
    static constexpr float kNone =
        0;  // a tensor without elements may have no address, and is given all the same
    pairs.data = attn_mask.tensor.data == nullptr ? &kNone : attn_mask.tensor.data;
    pairs.type = attn_mask.tensor.dtype;
    scores.attn_mask = &pairs;
  }
  to = &scores;
  return true;
}

}  // namespace flashmoe_python
