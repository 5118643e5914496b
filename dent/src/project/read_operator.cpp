// SPDX-License-Identifier: MIT
#include "project/read_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/attention.h"

namespace dent {
namespace {

DType read_dtype(StrictTable& table, DType otherwise) {
  const auto text = table.text("dtype");
  if (!text) return otherwise;
  try {
    return parse_dtype(*text);
  } catch (const std::exception&) {
    table.fail("dtype", "is \"" + *text + "\"; accepted are " + dtype_names());
  }
}

// The same value everywhere, as kernels expect it of what they add to or take the maximum with.
std::optional<double> read_constant(StrictTable& table) {
  if (table.is_number("fill")) return table.number("fill");
  const std::string word = table.text("fill").value_or("");
  if (word == "zeros") return 0;
  if (word == "ones") return 1;
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool holds(DType integer, double value) {
  const Range range = range_of(integer);
  return value == std::floor(value) && value >= range.least && value <= range.most;
}

Fill read_fill(StrictTable& table, DType dtype) {
  Fill fill;
  if (const auto value = read_constant(table)) {
    if (std::isnan(*value) || (!is_floating(dtype) && !holds(dtype, *value)))
      table.fail("fill", fmt::format("is {}, which is no number of type {}", *value, name(dtype)));
    return {Fill::Kind::constant, *value, *value};
  }
  const bool small = !is_floating(dtype) && bytes_of(dtype) == 1;
  const std::string kind = table.text("fill").value_or(small ? "integers" : "normal");
  if (small && kind != "integers") {
    if (kind == "python") return {Fill::Kind::python};
    table.fail("fill", fmt::format("is \"{}\", which is none for {}", kind, name(dtype)),
               "fill = \"integers\" with low and high, or one value");
  }
  if (kind == "normal")
    fill.kind = Fill::Kind::normal;
  else if (kind == "uniform")
    fill.kind = Fill::Kind::uniform;
  else if (kind == "integers")
    fill.kind = Fill::Kind::integers;
  else if (kind == "python")
    return {Fill::Kind::python};
  else
    table.fail("fill",
               "is \"" + kind +
                   "\"; accepted are normal, uniform, integers, python, zeros, ones, a number, inf, -inf");
  const Range whole = small ? range_of(dtype) : Range{0, 1};
  fill.low = table.number(kind == "normal" ? "mean" : "low").value_or(whole.least);
  fill.high = table.number(kind == "normal" ? "deviation" : "high").value_or(whole.most);
  if (kind != "normal" && !(fill.low < fill.high)) table.fail("high", "must be above low");
  if (kind == "integers" && !is_floating(dtype)) {
    for (const auto& [key, value] : {std::pair{"low", fill.low}, {"high", fill.high}}) {
      if (holds(dtype, value)) continue;
      table.fail(key, fmt::format("is {}; {} has whole numbers from {:.0f} to {:.0f}", value, name(dtype),
                                  range_of(dtype).least, range_of(dtype).most));
    }
  }
  return fill;
}

std::vector<TensorRule> read_tensors(StrictTable& op, const char* key, bool inputs, bool required = true) {
  std::vector<TensorRule> rules;
  auto all = op.table(key);
  if (!all && !required) return rules;
  if (!all || all->keys().empty()) {
    op.fail(key, "is missing", fmt::format("{}.x = {{ shape = [\"rows\", \"columns\"] }}", key));
  }
  for (const std::string& name : all->keys()) {
    auto table = all->table(name);
    TensorRule rule;
    rule.name = name;
    rule.dtype = read_dtype(*table, DType::fp32);
    rule.dims = table->texts("shape");
    if (rule.dims.empty()) table->fail("shape", "is missing", "shape = [\"rows\", \"columns\"]");
    if (inputs) {
      rule.fill = read_fill(*table, rule.dtype);
      rule.constant = table->flag("constant").value_or(false);
    }
    table->done();
    rules.push_back(std::move(rule));
  }
  return rules;
}

// The function that makes inputs, and the inputs that it makes: one needs the other.
std::string read_inputs_from(StrictTable& op, const std::vector<TensorRule>& inputs) {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(), [](const TensorRule& input) {
    return input.fill.kind == Fill::Kind::python;
  });
  auto table = op.table("inputs_from");
  if (!table) {
    if (wanted) {
      op.fail("inputs_from", "is missing: who makes the inputs that have fill = \"python\"?",
              "inputs_from = { python = \"task:inputs\" }");
    }
    return {};
  }
  if (!wanted) op.fail("inputs_from", "makes no input", "give one of them fill = \"python\"");
  const std::string function = table->required_text("python");
  if (function.find(':') == std::string::npos) table->fail("python", "must be \"module:function\"");
  table->done();
  return function;
}

Reference read_reference(StrictTable& op) {
  auto table = op.table("reference");
  if (!table) {
    op.fail("reference", "is missing: who says what is right?",
            "reference = { python = \"reference:softmax\" }, or { source = \"reference.cpp\", entry = "
            "\"softmax\" }");
  }
  Reference reference;
  const auto python = table->text("python");
  reference.library = table->text("library").value_or("");
  reference.source = table->text("source").value_or("");
  reference.entry = table->text("entry").value_or("");
  reference.dtype = read_dtype(*table, DType::fp64);
  if (python) {
    reference.kind = Reference::Kind::python;
    reference.entry = *python;
    if (python->find(':') == std::string::npos) table->fail("python", "must be \"module:function\"");
  } else {
    reference.kind = Reference::Kind::library;
    if (reference.library.empty() == reference.source.empty()) {
      table->fail("source", "a reference has one of python, source and library");
    }
    if (reference.entry.empty()) table->fail("entry", "is missing");
  }
  table->done();
  return reference;
}

Tolerance read_tolerance(StrictTable& op, Tolerance tolerance) {
  if (auto table = op.table("tolerance")) {
    tolerance.absolute = table->number("absolute");
    tolerance.relative = table->number("relative");
    tolerance.slack = table->number("slack").value_or(tolerance.slack);
    table->done();
  }
  return tolerance;
}

Operator read_attention(StrictTable& table, bool forward) {
  AttentionOptions options;
  options.dtype = read_dtype(table, DType::fp32);
  options.causal = table.flag("causal").value_or(false);
  if (forward) options.lse = table.flag("lse").value_or(false);
  Operator op = forward ? attention_forward(options) : attention_backward(options);
  op.tolerance = read_tolerance(table, op.tolerance);
  return op;
}

Family read_family(StrictTable& table, const std::string& op) {
  const auto said = table.text("family");
  if (!said) return family_of(op);
  const auto family = parse_word<Family>(*said);
  if (!family) table.fail("family", "is \"" + *said + "\"; accepted are attention, matmul, softmax, other");
  return *family;
}

Operator read_custom(StrictTable& table) {
  Operator op;
  op.name = table.required_text("name");
  op.family = read_family(table, op.name);
  op.inputs = read_tensors(table, "inputs", true);
  op.outputs = read_tensors(table, "outputs", false);
  for (const TensorRule& output : op.outputs) {
    for (const TensorRule& input : op.inputs) {
      if (input.name != output.name || (input.dtype == output.dtype && input.dims == output.dims)) continue;
      table.fail("outputs",
                 output.name + " has an input's name, so it is updated in place, but another type or shape",
                 "give both the same dtype and shape, or the output another name");
    }
  }
  op.scratch = read_tensors(table, "scratch", false, false);
  for (const TensorRule& scratch : op.scratch) {
    const auto taken = [&](const TensorRule& other) { return other.name == scratch.name; };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), taken) ||
        std::any_of(op.outputs.begin(), op.outputs.end(), taken)) {
      table.fail("scratch", scratch.name + " has the name of an input or output", "give it another name");
    }
  }
  op.inputs_from = read_inputs_from(table, op.inputs);
  if (std::all_of(op.inputs.begin(), op.inputs.end(), [](const TensorRule& input) {
        return input.fill.kind == Fill::Kind::constant || input.constant;
      })) {
    table.fail("inputs", "are all constant: a kernel could learn its one answer by heart",
               "let at least one of them differ from call to call");
  }
  if (auto parameters = table.table("parameters")) op.parameters = parameters->remaining_numbers();
  op.reference = read_reference(table);
  op.tolerance = read_tolerance(table, {});
  op.flops = table.text("flops").value_or("");
  op.bytes = table.text("bytes").value_or("");
  op.reduction = table.text_or_number("reduction");
  return op;
}

}  // namespace

Operator read_operator(StrictTable& table) {
  const std::string kind = table.text("kind").value_or("custom");
  const bool forward = kind == "attention.forward";
  if (!forward && kind != "attention.backward" && kind != "custom") {
    table.fail("kind", "is \"" + kind + "\"; accepted are attention.forward, attention.backward, custom");
  }
  Operator op = kind == "custom" ? read_custom(table) : read_attention(table, forward);
  table.done();
  return op;
}

}  // namespace dent
