// SPDX-License-Identifier: MIT
#include "lengths.h"

#include "arguments.h"
#include "results.h"

namespace flashmoe_python {
namespace {

// One array of integers, of `sequences` + `more` elements; `sequences` is set by the first.
struct Reader {
  const TensorView& q;
  int64_t sequences = -1;
  const char* first = nullptr;

  bool read(PyObject* object, const char* name, int64_t more, TensorView& view, const int32_t*& data) {
    if (!given(object)) return true;
    if (!read_tensor(object, name, kLengths, view) || !check_same_device(view, q)) return false;
    const int64_t count = view.tensor.sizes[0];
    if (count > 1 && view.tensor.strides[0] != 1) {
      return fail(PyExc_ValueError, "attention: %s has stride %lld; it must be contiguous", name,
                  static_cast<long long>(view.tensor.strides[0]));
    }
    if (count < more) return fail(PyExc_ValueError, "attention: %s is empty; it begins with a 0", name);
    if (first == nullptr) {
      first = name;
      sequences = count - more;
    } else if (count - more != sequences) {
      return fail(PyExc_ValueError, "attention: %s is for %lld sequences and %s for %lld", name,
                  static_cast<long long>(count - more), first, static_cast<long long>(sequences));
    }
    static constexpr int32_t kNone = 0;  // an empty array may have no address, and is given all the same
    data = count == 0 ? &kNone : static_cast<const int32_t*>(view.tensor.data);
    return true;
  }
};

bool read_longest(PyObject* object, const char* name, int64_t& longest) {
  int32_t value = 0;
  if (!read_count(object, name, value)) return false;
  longest = value;
  return true;
}

}  // namespace

bool LengthsRequest::has_lengths() const { return packed || given(used_q) || given(used_k); }

bool read_lengths(const LengthsRequest& request, const TensorView& q, std::optional<LengthsViews>& views,
                  const flashmoe_lengths*& to) {
  if (!request.has_lengths()) return true;
  if (request.packed && (!given(request.cu_seqlens_q) || !given(request.cu_seqlens_k))) {
    return fail(PyExc_TypeError,
                "attention: cu_seqlens_q and cu_seqlens_k must be given, int32 [sequences + 1]");
  }
  auto& [starts_q, starts_k, used_q, used_k, lengths] = views.emplace();
  const char* used_q_name = request.packed ? "seqused_q" : "q_lengths";
  const char* used_k_name = request.packed ? "seqused_k" : "kv_lengths";
  Reader reader{q};
  if (!reader.read(request.cu_seqlens_q, "cu_seqlens_q", 1, starts_q, lengths.q_starts) ||
      !reader.read(request.cu_seqlens_k, "cu_seqlens_k", 1, starts_k, lengths.k_starts) ||
      !reader.read(request.used_q, used_q_name, 0, used_q, lengths.q_used) ||
      !reader.read(request.used_k, used_k_name, 0, used_k, lengths.k_used) ||
      !read_longest(request.max_seqlen_q, "max_seqlen_q", lengths.longest_q) ||
      !read_longest(request.max_seqlen_k, "max_seqlen_k", lengths.longest_k)) {
    return false;
  }
  lengths.sequences = reader.sequences;
  to = &lengths;
  return true;
}

int64_t entries_of(const TensorView& q, const std::optional<LengthsViews>& views) {
  return views ? views->lengths.sequences : q.tensor.sizes[0];
}

}  // namespace flashmoe_python
