// SPDX-License-Identifier: MIT
#include "model/run_options.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace flashmoe::test {

const char* const kRunUsage =
    "run_kernel: one kernel, one shape, one schedule on the model of a GPU\n"
    "  --kernel NAME    naive, ampere_forward, small_forward or decode_forward; otherwise what dispatch "
    "chooses\n"
    "  --shape LIST     batch,heads,rows,head_dim or batch,q_heads,kv_heads,q_rows,kv_rows,head_dim "
    "(1,1,128,64)\n"
    "  --dtype NAME     fp16, bf16 or fp32 (fp16)\n"
    "  --mask NAME      none, causal or causal_top_left (none); --causal is short for the second\n"
    "  --splits N       blocks that share the keys of one tile\n"
    "  --tuning N       which of the kernel's configurations, where it has a table of them\n"
    "  --gpu NAME       to plan for (H200); --sms N: as if it had so many SMs\n"
    "  --seed N         schedule: 0 in turns, odd any warp any time, even some warps far ahead (0)\n"
    "  --late LIST      what takes effect as late as it may: all, none, or some of copies,stores,tma,wgmma "
    "(all)\n"
    "  --trace PATH     writes PATH.txt, and PATH.json for ui.perfetto.dev or chrome://tracing\n"
    "example: run_kernel --kernel small_forward --shape 1,1,128,64 --causal --seed 3 --trace build/trace\n";

namespace {

std::vector<std::string> pieces(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream text(list);
  for (std::string piece; std::getline(text, piece, ',');) all.push_back(piece);
  return all;
}

int64_t number(const std::string& text) {
  std::size_t used = 0;
  int64_t value = -1;
  try {
    value = std::stoll(text, &used);
  } catch (const std::logic_error&) {
    used = std::string::npos;
  }
  if (used != text.size() || value < 0)
    throw std::invalid_argument("\"" + text + "\" is not a number from 0");
  return value;
}

// The element of `all` with this name.
template <class T, class Name>
T named(const std::string& text, std::initializer_list<T> all, Name name) {
  std::string accepted;
  for (T one : all) {
    if (text == name(one)) return one;
    accepted += std::string(accepted.empty() ? "" : ", ") + name(one);
  }
  throw std::invalid_argument("\"" + text + "\" is none of " + accepted);
}

void set_shape(Shape& shape, const std::string& list) {
  std::vector<int64_t> sizes;
  for (const std::string& piece : pieces(list)) sizes.push_back(number(piece));
  if (sizes.size() == 4) sizes = {sizes[0], sizes[1], sizes[1], sizes[2], sizes[2], sizes[3]};
  if (sizes.size() != 6) throw std::invalid_argument("--shape takes 4 or 6 sizes, not \"" + list + "\"");
  shape.batch = sizes[0];
  shape.q_heads = sizes[1];
  shape.kv_heads = sizes[2];
  shape.q_rows = sizes[3];
  shape.kv_rows = sizes[4];
  shape.head_dim = sizes[5];
}

void set_late(model::Settings& settings, const std::string& list) {
  using model::CopyTime;
  struct Kind {
    const char* name;
    CopyTime model::Settings::*time;
  };
  const Kind kinds[] = {{"copies", &model::Settings::copies},
                        {"stores", &model::Settings::stores},
                        {"tma", &model::Settings::tma},
                        {"wgmma", &model::Settings::wgmma}};
  for (const Kind& kind : kinds) settings.*kind.time = CopyTime::early;
  for (const std::string& piece : pieces(list)) {
    bool known = piece == "none";
    for (const Kind& kind : kinds) {
      if (piece != kind.name && piece != "all") continue;
      settings.*kind.time = CopyTime::late;
      known = true;
    }
    if (!known)
      throw std::invalid_argument("\"" + piece + "\" is none of all, none, copies, stores, tma, wgmma");
  }
}

}  // namespace

std::optional<RunOptions> parse_run_options(const std::vector<std::string>& words) {
  using dispatch::ForwardKernel;
  RunOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") return std::nullopt;
    if (word == "--causal") {
      options.shape.mask = Mask::causal;
      continue;
    }
    if (i + 1 == words.size()) throw std::invalid_argument(word + " is unknown, or has no value behind it");
    const std::string& value = words[++i];
    if (word == "--kernel") {
      options.choice.kernel =
          named(value,
                {ForwardKernel::naive, ForwardKernel::ampere_forward, ForwardKernel::hopper_forward,
                 ForwardKernel::small_forward, ForwardKernel::decode_forward},
                [](ForwardKernel kernel) { return dispatch::name_of(kernel); });
    } else if (word == "--shape") {
      set_shape(options.shape, value);
    } else if (word == "--dtype") {
      options.shape.dtype =
          named(value, {DType::fp16, DType::bf16, DType::fp32}, [](DType t) { return name_of(t); });
    } else if (word == "--mask") {
      options.shape.mask =
          named(value, {Mask::none, Mask::causal, Mask::causal_top_left}, [](Mask m) { return name_of(m); });
    } else if (word == "--splits") {
      options.choice.num_splits = static_cast<int>(number(value));
    } else if (word == "--gpu") {
      options.gpu = value;
    } else if (word == "--tuning") {
      options.choice.tuning = static_cast<int>(number(value));
    } else if (word == "--sms") {
      options.sms = static_cast<int>(number(value));
    } else if (word == "--seed") {
      options.settings.seed = static_cast<uint64_t>(number(value));
    } else if (word == "--late") {
      set_late(options.settings, value);
    } else if (word == "--trace") {
      options.trace = value;
    } else {
      throw std::invalid_argument(word + " is unknown");
    }
  }
  return options;
}

}  // namespace flashmoe::test
