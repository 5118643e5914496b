// SPDX-License-Identifier: MIT
#include "build/glue.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dent {
namespace {

struct Parameter {
  std::string type;
  std::string name;
};

// "const float* x" -> {"const float*", "x"}: the name is the last identifier.
Parameter split(const std::string& text) {
  std::size_t start = text.size();
  while (start > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[start - 1])) != 0 || text[start - 1] == '_'))
    --start;
  return {trimmed(text.substr(0, start)), text.substr(start)};
}

std::vector<Parameter> parameters_of(const std::string& declaration, std::size_t open) {
  const std::size_t close = declaration.rfind(')');
  if (close == std::string::npos || close < open) {
    throw Error(ErrorCode::invalid, "entry \"" + declaration + "\": a ) is missing");
  }
  std::vector<Parameter> parameters;
  const std::string list = declaration.substr(open + 1, close - open - 1);
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parameters.push_back(split(trimmed(list.substr(at, comma - at))));
    at = comma + 1;
  }
  return parameters;
}

std::string argument(const Parameter& parameter, const Operator& op, const Numbers& numbers,
                     const std::string& entry) {
  const auto match = [&](const std::vector<TensorRule>& rules, const char* list) -> std::string {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].name == parameter.name)
        return fmt::format("({})call->{}[{}].data", parameter.type, list, i);
    }
    return {};
  };
  std::string text = match(op.outputs, "outputs");  // first: what is updated in place is there
  if (text.empty()) text = match(op.inputs, "inputs");
  if (!text.empty()) return text;
  if (parameter.name == "stream") return fmt::format("({})call->stream", parameter.type);
  if (numbers.count(parameter.name) > 0)
    return fmt::format("({})number(call, \"{}\")", parameter.type, parameter.name);
  std::string known;
  for (const auto* rules : {&op.inputs, &op.outputs}) {
    for (const TensorRule& rule : *rules) known += rule.name + ", ";
  }
  for (const auto& [name, value] : numbers) known += name + ", ";
  throw Error(
      ErrorCode::invalid,
      fmt::format("entry \"{}\": nothing is called \"{}\"; there are {}stream", entry, parameter.name, known),
      "name the parameters in the declaration as the operator does; the kernel's own source stays as it is");
}

constexpr std::string_view kGlobal = "__global__";

constexpr const char* kDims = R"(static dim3 dims(double x, double y = 1, double z = 1) {
  return dim3((unsigned)x, (unsigned)y, (unsigned)z);
}

)";

// An expression over a shape's sizes as C++, in double: names are looked up in the call.
std::string as_code(const std::string& expression) {
  std::string code;
  for (std::size_t at = 0; at < expression.size();) {
    const auto word = [&](std::size_t from) {
      std::size_t end = from;
      while (end < expression.size() && (std::isalnum(static_cast<unsigned char>(expression[end])) != 0 ||
                                         expression[end] == '_' || expression[end] == '.')) {
        ++end;
      }
      return expression.substr(from, end - from);
    }(at);
    if (word.empty()) {
      if (expression[at] == '%') {
        throw Error(ErrorCode::invalid,
                    "[kernel.launch]: \"" + expression + "\" has a %, which a grid has no use for",
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
      code += fmt::format("number(call, \"{}\")", word);
    }
  }
  return code;
}

// What stands between the name of a __global__ function and its arguments.
std::string launch_code(const LaunchRule& launch, const std::string& declaration) {
  if (launch.grid.empty()) {
    throw Error(ErrorCode::invalid,
                "entry \"" + declaration + "\" is a __global__ function, and nothing says how to launch it",
                "add [kernel.launch] with grid = \"ceil(n/256)\" and block = \"256\", or give a function "
                "that launches it");
  }
  if (!launch.cluster.empty()) {
    throw Error(ErrorCode::invalid, "entry \"" + declaration + "\": dent launches no clusters",
                "give a function that launches it, and takes the stream");
  }
  return fmt::format("<<<dims({}), dims({}), {}, (cudaStream_t)call->stream>>>", as_code(launch.grid),
                     as_code(launch.block),
                     launch.smem.empty() ? "0" : "(size_t)(" + as_code(launch.smem) + ")");
}

}  // namespace

bool is_kernel_in(const std::string& source, const std::string& declaration) {
  const std::string name = split(trimmed(declaration.substr(0, declaration.find('(')))).name;
  for (auto at = source.find(kGlobal); at != std::string::npos; at = source.find(kGlobal, at + 1)) {
    auto open = source.find('(', at);
    if (source.substr(at, open - at).find("__launch_bounds__") != std::string::npos) {
      open = source.find('(', source.find(')', open));
    }
    if (open != std::string::npos && split(trimmed(source.substr(at, open - at))).name == name) return true;
  }
  return false;
}

bool is_declaration(const std::string& entry) { return entry.find('(') != std::string::npos; }

std::string glue_source(const std::string& declaration, const Operator& op, const Shape& shape, bool cuda,
                        const LaunchRule& launch) {
  const std::size_t open = declaration.find('(');
  const Parameter head = split(trimmed(declaration.substr(0, open)));  // "void softmax_forward"
  if (head.name.empty() || head.type.empty()) {
    throw Error(ErrorCode::invalid, "entry \"" + declaration + "\" is no declaration of a function",
                "for example: void softmax(const float* x, float* y, int rows)");
  }
  std::string type = head.type;
  constexpr std::string_view kExternC = "extern \"C\"";
  if (type.rfind(kExternC, 0) == 0) type = trimmed(type.substr(kExternC.size()));
  const Numbers numbers = make_problem(op, shape).numbers;
  std::string arguments;
  for (const Parameter& parameter : parameters_of(declaration, open)) {
    arguments += (arguments.empty() ? "" : ", ") + argument(parameter, op, numbers, declaration);
  }
  const bool global = type.rfind(kGlobal, 0) == 0;
  const std::string how = global ? launch_code(launch, trimmed(declaration, " \t\r\n;")) : "";
  const std::string room =
      !global || launch.smem.empty()
          ? ""
          : fmt::format(
                "cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)({}));\n  ",
                head.name, as_code(launch.smem));
  const bool status = type == "int" || type == "cudaError_t";  // 0 means success in both
  return fmt::format(R"(// Generated by dent from the entry in dent.toml.
#include <dent/kernel.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
{}
{};

static double number(const dent_call* call, const char* name) {{
  for (int32_t i = 0; i < call->num_numbers; ++i) {{
    if (strcmp(call->numbers[i].name, name) == 0) return call->numbers[i].value;
  }}
  return 0;
}}

{}extern "C" __attribute__((visibility("default"))) int {}(const dent_call* call) {{
  {}{}{}{}({});
  {}
}}
)",
                     cuda ? "#include <cuda_runtime.h>" : "", trimmed(declaration, " \t\r\n;"),
                     global ? kDims : "", kGlueEntry, room, status ? "return (int)" : "", head.name, how,
                     arguments,
                     status ? "" : (cuda ? "return (int)cudaGetLastError();" : "(void)number;\n  return 0;"));
}

}  // namespace dent
