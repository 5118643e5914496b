// SPDX-License-Identifier: MIT
#include "kernels/on_model.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "dispatch/run.h"
#include "numeric/pair_value.h"

namespace flashmoe::test {
namespace {

struct Forget {
  ~Forget() { model::forget_memory(); }
};

}  // namespace

void allow_tensor(const char* name, const Tensor& t, bool writable) {
  if (std::find(t.sizes.begin(), t.sizes.end(), 0) != t.sizes.end()) return;  // nobody may touch anything
  int64_t first = 0, end = t.sizes[3];  // elements, from t.data; strides may be negative
  for (std::size_t i = 0; i < 3; ++i) {
    const int64_t reach = (t.sizes[i] - 1) * t.strides[i];
    (reach < 0 ? first : end) += reach;
  }
  const int64_t bytes = element_bytes(t.dtype);
  model::allow_memory(name, static_cast<const std::byte*>(t.data) + first * bytes,
                      static_cast<std::size_t>((end - first) * bytes), writable);
}

void allow_pairs(const char* name, const void* data, const std::array<int64_t, 4>& strides, int64_t element,
                 const std::array<int64_t, 4>& sizes, bool writable) {
  if (data == nullptr || std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  int64_t count = 1;
  for (std::size_t i = 0; i < 4; ++i) count += (sizes[i] - 1) * strides[i];
  model::allow_memory(name, data, static_cast<std::size_t>(count * element), writable);
}

void allow_scores(const Scores& scores, const std::array<int64_t, 4>& pairs) {
  const int64_t batch = pairs[0], heads = pairs[1];
  const auto allow = [](const char* name, const float* data, int64_t count) {
    if (data != nullptr)
      model::allow_memory(name, data, static_cast<std::size_t>(count) * sizeof(float), false);
  };
  allow("slopes", scores.alibi_slopes, (batch - 1) * scores.slopes_batch_stride + heads);
  allow("sinks", scores.sinks, heads);
  const PairTensor& mask = scores.attn_mask;
  allow_pairs("attn_mask", mask.data, mask.strides, element_bytes(mask.type), pairs, false);
}

dispatch::ForwardPlan run_on_model(Problem& problem, const OnModel& how, const Launch& launch) {
  const Forget forget;
  model::settings() = how.settings;
  const ForwardArgs& args = problem.args;
  allow_tensor("q", args.q, false);
  allow_tensor("k", args.k, false);
  allow_tensor("v", args.v, false);
  allow_tensor("out", args.out, true);
  allow_scores(args.scores, {sequences_of(args), args.q.sizes[1], args.q.sizes[2], args.k.sizes[2]});
  allow_spans(args);
  allow_lengths(args);
  if (args.lse != nullptr) {
    model::allow_memory(
        "lse", args.lse,
        static_cast<std::size_t>(args.q.sizes[0] * args.q.sizes[1] * args.q.sizes[2]) * sizeof(float), true);
  }
  const dispatch::Addressing addressing = how.claim_aligned ? dispatch::addressing_of(args) : false;
  device::Spec spec = device::find(how.gpu);
  if (how.sms > 0) spec.sms = how.sms;
  const auto plan = dispatch::plan_forward(problem.problem, addressing, spec, how.choice);
  // A heap block of exactly this size, full of NaN patterns.
  const std::unique_ptr<std::byte[]> space(new std::byte[plan.workspace_bytes + kWorkspaceAlignment]);
  std::memset(space.get(), 0xFF, plan.workspace_bytes + kWorkspaceAlignment);
  Workspace workspace = Workspace::in(space.get(), plan.workspace_bytes + kWorkspaceAlignment);
  workspace.bytes = plan.workspace_bytes;
  if (plan.workspace_bytes > 0) model::allow_memory("workspace", workspace.data, plan.workspace_bytes, true);
  if (launch) {
    launch(plan, workspace);
  } else {
    dispatch::run_forward(plan, problem.problem, args, workspace);
  }
  return plan;
}

std::string trouble_on_model(const Shape& shape, const dispatch::ForwardChoice& choice, int seeds,
                             bool claim_aligned) {
  const reference::ForwardResult expected = Problem(shape).oracle();
  for (int seed = 0; seed < seeds; ++seed) {
    for (model::CopyTime copies : {model::CopyTime::late, model::CopyTime::early}) {
      Problem problem(shape);
      std::string wrong;
      try {
        // All at the same time on even seeds, some early and some late on odd ones.
        const bool late = (copies == model::CopyTime::late) == (seed % 2 == 0);
        const model::CopyTime others = late ? model::CopyTime::late : model::CopyTime::early;
        const model::Settings settings{.seed = static_cast<uint64_t>(seed),
                                       .copies = copies,
                                       .stores = others,
                                       .tma = copies,
                                       .wgmma = others};
        run_on_model(problem, {.choice = choice, .settings = settings, .claim_aligned = claim_aligned});
        wrong = problem.disagreement(expected);
      } catch (const std::exception& failure) {
        wrong = failure.what();
      }
      if (!wrong.empty()) {
        return describe(shape) + ", seed " + std::to_string(seed) +
               (copies == model::CopyTime::late ? ", late copies: " : ", early copies: ") + wrong;
      }
    }
  }
  return "";
}

}  // namespace flashmoe::test
