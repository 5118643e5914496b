// SPDX-License-Identifier: MIT
#include "predict/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"
#include "dispatch/predict.h"
#include "dispatch/predict_backward.h"
#include "records/json.h"

namespace dent::test {
namespace {

using nlohmann::json;
namespace dispatch = flashmoe::dispatch;

flashmoe::ForwardProblem problem_of(const json& c) {
  flashmoe::ForwardProblem p;
  p.batch = c.at("batch");
  p.q_heads = c.at("q_heads");
  p.kv_heads = c.at("kv_heads");
  p.q_rows = c.contains("rows") ? c.at("rows") : c.at("q_rows");
  p.kv_rows = c.contains("rows") ? c.at("rows") : c.at("kv_rows");
  p.head_dim = c.at("head_dim");
  const std::string dtype = c.value("dtype", "bfloat16");
  p.dtype = dtype == "fp32"      ? flashmoe::DType::fp32
            : dtype == "float16" ? flashmoe::DType::fp16
                                 : flashmoe::DType::bf16;
  p.mask = c.at("causal").get<bool>() ? flashmoe::Mask::causal : flashmoe::Mask::none;
  p.scale = 0.125F;
  return p;
}

std::string title_of(const flashmoe::ForwardProblem& p, dispatch::Cache cache) {
  const std::string heads =
      p.q_heads == p.kv_heads ? std::to_string(p.q_heads) : fmt::format("{}/{}", p.q_heads, p.kv_heads);
  const std::string rows = p.q_rows == p.kv_rows ? fmt::format("S={}", p.q_rows)
                                                 : fmt::format("Sq={} Skv={}", p.q_rows, p.kv_rows);
  return fmt::format("B={} H={} {} D={} {}{}{}", p.batch, heads, rows, p.head_dim, flashmoe::name_of(p.dtype),
                     p.mask == flashmoe::Mask::none ? "" : " causal",
                     cache == dispatch::Cache::warm ? " warm" : "");
}

Agreement row(const char* set, const json& c, const dispatch::ForwardChoice& choice, dispatch::Cache cache,
              double measured_us) {
  const auto& h200 = flashmoe::device::find("H200");
  const auto p = problem_of(c);
  const auto plan = dispatch::plan_forward(p, true, h200, choice);
  const auto prediction = dispatch::predict_forward(plan, p, h200, cache).prediction;
  return {set,
          dispatch::name_of(plan.kernel),
          title_of(p, cache),
          prediction.expected_us,
          prediction.low_us,
          prediction.high_us,
          measured_us,
          !choice.kernel.has_value()};
}

// A row for a gradients' kernel. A run named "flashmoe" used the kernel that dispatch chose.
Agreement gradient_row(const json& c, const std::string& who, double measured_us) {
  const auto& h200 = flashmoe::device::find("H200");
  const auto p = problem_of(c);
  dispatch::BackwardChoice choice;
  if (who == "ampere") choice.kernel = dispatch::BackwardKernel::ampere_backward;
  const auto plan = dispatch::plan_backward(p, true, h200, who == "deterministic", choice);
  const auto prediction = dispatch::predict_backward(plan, p, h200).prediction;
  return {"gradients",
          fmt::format("{}{}", dispatch::name_of(plan.kernel), plan.deterministic ? ", deterministic" : ""),
          title_of(p, dispatch::Cache::cold),
          prediction.expected_us,
          prediction.low_us,
          prediction.high_us,
          measured_us,
          !choice.kernel.has_value()};
}

json read(const std::filesystem::path& file) {
  const auto text = dent::read_text(file);
  if (!text) throw std::runtime_error(file.string() + " can't be read");
  return dent::require_json(*text);
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

dispatch::ForwardKernel kernel_called(const std::string& name) {
  for (const auto kernel : {dispatch::ForwardKernel::naive, dispatch::ForwardKernel::ampere_forward,
                            dispatch::ForwardKernel::hopper_forward, dispatch::ForwardKernel::small_forward,
                            dispatch::ForwardKernel::decode_forward}) {
    if (name == dispatch::name_of(kernel)) return kernel;
  }
  throw std::runtime_error("no kernel is called " + name);
}

}  // namespace

std::vector<Agreement> agreements(const std::filesystem::path& results) {
  std::vector<Agreement> rows;
  const json gpu = read(results / "attention_gpu_h200.json");
  for (const json& result : gpu.at("results")) {
    const json& c = result.at("case");
    rows.push_back(row("benchmarks", c, {},
                       c.at("cold").get<bool>() ? dispatch::Cache::cold : dispatch::Cache::warm,
                       result.at("contenders").at("flashmoe").at("median_us")));
  }
  const std::pair<const char*, const char*> kernels[] = {{"attention_hopper_h200.json", "dispatch"},
                                                         {"attention_ampere_h200.json", "ampere_forward"}};
  for (const auto& [file, who] : kernels) {
    dispatch::ForwardChoice choice;
    if (std::string(who) != "dispatch") choice.kernel = kernel_called(who);
    const json timed = read(results / file);
    for (const json& result : timed.at("results")) {
      rows.push_back(row("benchmarks", result.at("case"), choice, dispatch::Cache::cold,
                         median(result.at("samples_us").at(who).get<std::vector<double>>())));
    }
  }
  const json gradients = read(results / "attention_backward_h200.json");
  for (const json& result : gradients.at("results")) {
    for (const char* who : {"flashmoe", "deterministic", "ampere"}) {
      if (!result.at("samples_us").contains(who)) continue;
      rows.push_back(gradient_row(result.at("case"), who,
                                  median(result.at("samples_us").at(who).get<std::vector<double>>())));
    }
  }
  if (const auto unseen = results / "attention_unseen_h200.json"; std::filesystem::exists(unseen)) {
    const json shapes = read(unseen);
    for (const json& result : shapes.at("results")) {
      dispatch::ForwardChoice choice;
      if (result.at("insisted").get<bool>()) choice.kernel = kernel_called(result.at("kernel"));
      rows.push_back(
          row("second set", result.at("case"), choice, dispatch::Cache::warm, result.at("median_us")));
    }
  }
  return rows;
}

double median_error(std::vector<double> errors) {
  for (double& error : errors) {
    if (std::isnan(error)) return error;  // sorting would hide a NaN
    error = std::abs(error);
  }
  return median(std::move(errors));
}

std::string agreement_tables(const std::vector<Agreement>& rows) {
  std::map<std::string, std::vector<const Agreement*>> groups;
  for (const Agreement& row : rows) {
    groups[row.set + " | " + row.kernel].push_back(&row);
    groups[row.set + " | all"].push_back(&row);
  }
  std::string text =
      "| set | kernel | shapes | median error | largest error | measured inside the range |\n"
      "| --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& [name, members] : groups) {
    std::vector<double> errors;
    double largest = 0;
    int inside = 0;
    for (const Agreement* row : members) {
      errors.push_back(row->error());
      if (std::abs(row->error()) > std::abs(largest)) largest = row->error();
      inside += row->in_range() ? 1 : 0;
    }
    text += fmt::format("| {} | {} | {:.1f} % | {:+.1f} % | {} of {} |\n", name, members.size(),
                        100 * median_error(errors), 100 * largest, inside, members.size());
  }
  text +=
      "\n| set | kernel | shape | predicted, us | range | measured, us | predicted over measured |\n"
      "| --- | --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const Agreement& row : rows) {
    text += fmt::format("| {} | {}{} | {} | {:.2f} | {:.2f} to {:.2f} | {:.2f} | {:.2f} |\n", row.set,
                        row.kernel, row.chosen ? "" : " (insisted)", row.title, row.predicted_us, row.low_us,
                        row.high_us, row.measured_us, row.predicted_us / row.measured_us);
  }
  return text;
}

}  // namespace dent::test
