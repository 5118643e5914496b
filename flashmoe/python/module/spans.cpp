// SPDX-License-Identifier: MIT
#include "spans.h"

#include "arguments.h"
#include "results.h"

namespace flashmoe_python {
namespace {

constexpr Form kDocuments{2, "[batch, keys], or one: [keys]", Elements::int32};
constexpr Form kSharedDocuments{1, "[keys]", Elements::int32};
constexpr Form kPackedDocuments{1, "[keys], of all sequences", Elements::int32};
constexpr Form kNumbers{1, "[batch]", Elements::int32};
constexpr Form kPackedNumbers{1, "[sequences]", Elements::int32};

bool is_packed(const TensorView& q) { return q.form.rank == kPacked.rank; }

// One dimension, or two.
bool has_one_dimension(PyObject* object) {
  const Ref shape(PyObject_GetAttrString(object, "shape"));
  const Py_ssize_t rank = shape ? PySequence_Size(shape.get()) : -1;
  if (rank < 0) PyErr_Clear();  // no tensor, which its reader will say
  return rank == 1;
}

bool check_contiguous(const TensorView& view, int dimension) {
  const int64_t* size = view.tensor.sizes;
  if (size[dimension] <= 1 || view.tensor.strides[dimension] == 1) return true;
  return fail(PyExc_ValueError, "attention: %s has stride %lld in its last dimension; it must be contiguous",
              view.name, static_cast<long long>(view.tensor.strides[dimension]));
}

bool check_size(const TensorView& view, int dimension, int64_t expected, const char* of) {
  const int64_t size = view.tensor.sizes[dimension];
  if (size == expected) return true;
  return fail(PyExc_ValueError, "attention: %s has %lld elements in dimension %d; it must have %lld: %s",
              view.name, static_cast<long long>(size), dimension, static_cast<long long>(expected), of);
}

// An array without elements may have no address, and is given all the same.
const int32_t* data_of(const TensorView& view) {
  static constexpr int32_t kNone = 0;
  return view.tensor.data == nullptr ? &kNone : static_cast<const int32_t*>(view.tensor.data);
}

bool read_documents(PyObject* object, const TensorView& q, const TensorView& k, TensorView& view,
                    flashmoe_spans& spans) {
  if (!given(object)) return true;
  const bool shared = is_packed(q) || has_one_dimension(object);
  const Form& form = is_packed(q) ? kPackedDocuments : shared ? kSharedDocuments : kDocuments;
  if (!read_tensor(object, "documents", form, view) || !check_same_device(view, q)) return false;
  const int keys = shared ? 0 : 1;
  if (!check_contiguous(view, keys) || !check_size(view, keys, k.of_batch().sizes[2], "one for each key"))
    return false;
  spans.documents = data_of(view);
  if (shared || view.tensor.sizes[0] == 1) return true;
  if (!check_size(view, 0, q.tensor.sizes[0], "a row for each batch entry, or one for all")) return false;
  spans.documents_stride = view.tensor.strides[0];
  return true;
}

bool read_numbers(PyObject* object, const char* name, const TensorView& q, int64_t entries, TensorView& view,
                  const int32_t*& data) {
  if (!given(object)) return true;
  const bool packed = is_packed(q);
  if (!read_tensor(object, name, packed ? kPackedNumbers : kNumbers, view) || !check_same_device(view, q) ||
      !check_contiguous(view, 0) ||
      !check_size(view, 0, entries, packed ? "one for each sequence" : "one for each batch entry"))
    return false;
  data = data_of(view);
  return true;
}

bool read_keys(PyObject* object, const char* name, int64_t& keys) {
  int32_t value = 0;
  if (!read_count(object, name, value)) return false;
  keys = value;
  return true;
}

bool is_zero(PyObject* object) { return PyLong_CheckExact(object) && PyLong_AsLong(object) == 0; }

}  // namespace

bool SpansRequest::has_spans() const {
  const auto more_than_none = [](PyObject* object) { return given(object) && !is_zero(object); };
  return given(documents) || given(prefix) || given(left_padding) || more_than_none(chunk) ||
         more_than_none(first_keys);
}

bool read_spans(const SpansRequest& request, const TensorView& q, const TensorView& k, int64_t entries,
                std::optional<SpansViews>& views, const flashmoe_spans*& to) {
  if (!request.has_spans()) return true;
  auto& [documents, prefix, left_padding, spans] = views.emplace();
  if (!read_documents(request.documents, q, k, documents, spans) ||
      !read_numbers(request.prefix, "prefix", q, entries, prefix, spans.prefix) ||
      !read_numbers(request.left_padding, "left_padding", q, entries, left_padding, spans.left_padding) ||
      !read_keys(request.chunk, "chunk", spans.chunk) ||
      !read_keys(request.first_keys, "first_keys", spans.first_keys))
    return false;
  to = &spans;
  return true;
}

}  // namespace flashmoe_python
