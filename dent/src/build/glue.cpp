// SPDX-License-Identifier: MIT
#include "build/glue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace dent {
namespace {

std::string names_of(const Numbers& numbers) {
  std::string names;
  for (const auto& [name, value] : numbers) names += name + ", ";
  return names;
}

// The argument for a parameter that is not a tensor; empty if the name is unknown.
std::string plain_argument(const Parameter& parameter, const Numbers& numbers) {
  if (parameter.name == "stream") return fmt::format("({})call->stream", parameter.type);
  if (numbers.count(parameter.name) > 0)
    return fmt::format("({})dent_value(call, \"{}\")", parameter.type, parameter.name);
  return {};
}

std::string argument(const Parameter& parameter, const Operator& op, const Numbers& numbers,
                     const std::string& entry, bool has_setup) {
  const auto match = [&](const std::vector<TensorRule>& rules, const char* list,
                         std::size_t first = 0) -> std::string {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].name == parameter.name)
        return fmt::format("({})call->{}[{}].data", parameter.type, list, first + i);
    }
    return {};
  };
  std::string text = match(op.outputs, "outputs");  // first: includes updated inputs
  if (text.empty()) text = match(op.inputs, "inputs");
  if (text.empty()) text = match(op.scratch, "outputs", op.outputs.size());
  if (text.empty()) text = plain_argument(parameter, numbers);
  if (text.empty() && has_setup && parameter.name == "setup")
    text = fmt::format("({})call->setup", parameter.type);
  if (!text.empty()) return text;
  std::string known;
  for (const auto* rules : {&op.inputs, &op.outputs, &op.scratch}) {
    for (const TensorRule& rule : *rules) known += rule.name + ", ";
  }
  throw Error(
      ErrorCode::invalid,
      fmt::format("entry \"{}\": parameter \"{}\" is unknown; known names are {}{}stream", entry,
                  parameter.name, known, names_of(numbers)),
      fmt::format(
          "rename the parameter in entry to a name of [operator] (the kernel's source stays unchanged), or "
          "add "
          "it: parameters = {{ {0} = 1 }} for a number, scratch.{0} = {{ shape = [...] }} for a buffer",
          parameter.name));
}

// The argument of a parameter of setup, which gets constant inputs only.
std::string setup_argument(const Parameter& parameter, const Operator& op, const Numbers& numbers,
                           const std::string& setup) {
  std::string known;
  int place = 0;
  for (const TensorRule& rule : op.inputs) {
    if (!rule.constant) continue;
    if (rule.name == parameter.name) return fmt::format("({})call->inputs[{}].data", parameter.type, place);
    known += rule.name + ", ";
    ++place;
  }
  if (parameter.name == "setup") return fmt::format("({})*setup", parameter.type);
  if (std::string text = plain_argument(parameter, numbers); !text.empty()) return text;
  throw Error(
      ErrorCode::invalid,
      fmt::format("setup \"{}\": parameter \"{}\" is not a constant input; known names are {}{}stream, setup",
                  setup, parameter.name, known, names_of(numbers)),
      "give setup only inputs with constant = true in [operator], and sizes");
}

// Translates expressions over a shape's sizes to C++ in double: sizes are read from the call, tunables are
// macros.
class LaunchCode {
 public:
  LaunchCode(const Numbers& numbers, const std::vector<std::string>& macros)
      : numbers_(numbers), macros_(macros) {}

  std::string operator()(const std::string& expression) const {
    std::string code;
    for (std::size_t at = 0; at < expression.size();) {
      const std::string word = word_at(expression, at);
      if (word.empty()) {
        if (expression[at] == '%') {
          throw Error(ErrorCode::invalid,
                      "[kernel.launch]: \"" + expression + "\" contains %, which is not supported",
                      "write it with + - * / ceil min max, e.g. \"ceil(n/256)\"");
        }
        code += expression[at++];
        continue;
      }
      at += word.size();
      if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
        code += "(double)" + word;
      } else if (at < expression.size() && expression[at] == '(') {
        code += word == "min" || word == "max" ? "f" + word : word;
      } else {
        code += value_of(word, expression);
      }
    }
    return code;
  }

 private:
  static std::string word_at(const std::string& text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 text[end] == '_' || text[end] == '.')) {
      ++end;
    }
    return text.substr(from, end - from);
  }

  std::string value_of(const std::string& word, const std::string& expression) const {
    if (numbers_.count(word) > 0) return fmt::format("dent_value(call, \"{}\")", word);
    if (std::find(macros_.begin(), macros_.end(), word) != macros_.end()) return "(double)(" + word + ")";
    throw Error(ErrorCode::invalid,
                fmt::format("[kernel.launch]: \"{}\" uses the unknown name {}; known names are {}{}",
                            expression, word, names_of(numbers_), fmt::join(macros_, ", ")),
                "use the sizes of a shape, parameters of the operator, or tunables");
  }

  const Numbers& numbers_;
  const std::vector<std::string>& macros_;
};

void check_launch(const LaunchRule& launch, const std::string& declaration) {
  if (launch.grid.empty()) {
    throw Error(
        ErrorCode::invalid,
        "entry \"" + declaration + "\" is a __global__ function, but dent.toml has no launch rule for it",
        "add [kernel.launch] with grid = \"ceil(n/256)\" and block = \"256\", or give a function "
        "that launches it");
  }
  if (!launch.cluster.empty()) {
    throw Error(ErrorCode::invalid, "entry \"" + declaration + "\": dent can't launch clusters",
                "use a function as entry that launches it and takes the stream");
  }
}

constexpr const char* kDims = R"(static dim3 dent_dims(double x, double y = 1, double z = 1) {
  return dim3((unsigned)x, (unsigned)y, (unsigned)z);
}

)";

constexpr const char* kCudaHeaders = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
)";

// Prints the driver's error text, since only a number is returned.
constexpr const char* kCudaEnd = R"(const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) fprintf(stderr, "%s: %s\n", cudaGetErrorName(status), cudaGetErrorString(status));
  return (int)status;)";

constexpr const char* kLoader = R"(static decltype(&{0}) dent_loaded_{0}() {{
  static decltype(&{0}) function = [] {{
    void* library = dlopen("{1}", RTLD_NOW | RTLD_LOCAL);
    void* symbol = library != nullptr ? dlsym(library, "{0}") : nullptr;
    if (symbol == nullptr) fprintf(stderr, "%s\n", dlerror());
    return (decltype(&{0}))symbol;
  }}();
  return function;
}}

)";

std::string declared(const Declaration& function, const GlueRequest& request) {
  const bool in_c = request.c_linkage || function.c_linkage;
  std::string text = in_c ? "#ifndef restrict\n#define restrict __restrict\n#endif\nextern \"C\" " : "";
  return text + function.text + ";\n";
}

std::string declared(const GlueRequest& request) {
  std::string text;
  for (const std::string& source : request.includes) text += fmt::format("#include \"{}\"\n", source);
  if (!request.included) text += declared(request.function, request);
  if (request.setup && !request.setup_included) text += declared(*request.setup, request);
  return text;
}

std::string loader(const Declaration& function, const GlueRequest& request) {
  if (request.library.empty()) return {};
  return fmt::format(fmt::runtime(kLoader), function.name, request.library);
}

// How a function that is not a kernel is called, and a check to make before.
struct Callee {
  std::string call, before;
};
Callee callee(const Declaration& function, const GlueRequest& request) {
  if (request.library.empty()) return {function.name + function.arguments, {}};
  const std::string loaded = fmt::format("dent_loaded_{}()", function.name);
  return {loaded, fmt::format("if ({} == nullptr) return 1;\n  ", loaded)};
}

bool gives_status(const Declaration& function) {  // 0 means success for both types
  return function.type == "int" || function.type == "cudaError_t";
}

const char* ending(const GlueRequest& request) { return request.cuda ? kCudaEnd : "return 0;"; }

// A pointer that setup returns is kept for the calls; other results are not.
std::string setup_source(const GlueRequest& request, const Operator& op, const Numbers& numbers) {
  if (!request.setup) return {};
  const Declaration& function = *request.setup;
  if (function.is_kernel()) {
    throw Error(ErrorCode::invalid, "setup \"" + function.text + "\" is a __global__ function",
                "use a function as setup that launches it and takes the stream");
  }
  std::string arguments;
  for (const Parameter& parameter : function.parameters) {
    arguments += (arguments.empty() ? "" : ", ") + setup_argument(parameter, op, numbers, function.text);
  }
  const auto [call, before] = callee(function, request);
  std::string body = fmt::format("{}({});", call, arguments);
  if (function.type.ends_with('*')) {
    body = fmt::format("*setup = (void*){}\n  if (*setup == nullptr) return 1;\n  {}", body, ending(request));
  } else {
    body = gives_status(function) ? "return (int)" + body : fmt::format("{}\n  {}", body, ending(request));
  }
  return fmt::format(R"(
{}extern "C" __attribute__((visibility("default"))) int {}(const dent_call* call, void** setup) {{
  (void)call, (void)setup;
  {}{}
}}
)",
                     loader(function, request), kGlueSetup, before, body);
}

}  // namespace

std::string glue_source(const GlueRequest& request, const Operator& op, const Shape& shape) {
  const Declaration& function = request.function;
  const Numbers numbers = make_problem(op, shape).numbers;
  std::string arguments;
  for (const Parameter& parameter : function.parameters) {
    arguments += (arguments.empty() ? "" : ", ") +
                 argument(parameter, op, numbers, function.text, request.setup.has_value());
  }
  auto [call, before] = callee(function, request);
  if (function.is_kernel()) {
    check_launch(request.launch, function.text);
    const LaunchCode code(numbers, request.macros);
    const std::string smem = request.launch.smem.empty() ? "" : code(request.launch.smem);
    if (!smem.empty()) {
      before =
          fmt::format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)({}));\n  ",
                      call, smem);
    }
    call += fmt::format("<<<dent_dims({}), dent_dims({}), {}, (cudaStream_t)call->stream>>>",
                        code(request.launch.grid), code(request.launch.block),
                        smem.empty() ? "0" : "(size_t)(" + smem + ")");
  }
  const bool status = gives_status(function);
  return fmt::format(R"(// Generated by dent from the entry in dent.toml.
#include <dent/kernel.h>
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{}
{}
[[maybe_unused]] static double dent_value(const dent_call* call, const char* name) {{
  for (int32_t i = 0; i < call->num_numbers; ++i) {{
    if (strcmp(call->numbers[i].name, name) == 0) return call->numbers[i].value;
  }}
  return 0;
}}

{}extern "C" __attribute__((visibility("default"))) int {}(const dent_call* call) {{
  {}{}{}({});
  {}
}}
{})",
                     request.cuda ? kCudaHeaders : "", declared(request),
                     function.is_kernel() ? kDims : loader(function, request), kGlueEntry, before,
                     status ? "return (int)" : "", call, arguments, status ? "" : ending(request),
                     setup_source(request, op, numbers));
}

}  // namespace dent
