// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/text.h"
#include "device/predict.h"
#include "predict/agreement.h"
#include "records/json.h"

namespace dent::test {
namespace {

namespace device = flashmoe::device;

constexpr double kFar = 2;

}  // namespace

std::vector<Agreement> plain_agreements(const std::filesystem::path& results) {
  const std::filesystem::path file = results / "plain_kernels_h200.json";
  const auto text = dent::read_text(file);
  if (!text) throw std::runtime_error(file.string() + " can't be read");
  const nlohmann::json document = dent::require_json(*text);
  std::vector<Agreement> rows;
  for (const auto& r : document.at("results")) {
    const bool warm = r.at("cache") == "warm";
    const device::Launch launch{.ctas = r.at("ctas"),
                                .block = {.threads = r.at("threads"),
                                          .registers = r.at("registers"),
                                          .smem_bytes = r.at("smem_bytes")},
                                .trips = r.at("trips")};
    const device::Work work{.matrix_flops = r.at("matrix_flops"),
                            .fp32_flops = r.at("flops"),
                            .exps = r.at("exps"),
                            .dram_bytes = warm ? 0 : r.at("bytes").get<double>(),
                            .l2_bytes = r.at("l2_bytes"),
                            .l1_bytes = r.at("l1_bytes")};
    const auto p = device::predict_plain(device::find("H200"), launch, work);
    rows.push_back({"plain", r.at("kernel"),
                    fmt::format("{}{}", r.at("size").get<std::string>(), warm ? ", warm" : ""), p.expected_us,
                    p.low_us, p.high_us, r.at("median_us")});
  }
  return rows;
}

std::string plain_summary(const std::vector<Agreement>& rows) {
  std::set<std::string> kernels;
  std::vector<double> errors;
  std::size_t near = 0;
  std::string far;
  for (const Agreement& row : rows) {
    kernels.insert(row.kernel);
    errors.push_back(row.error());
    if (row.factor() <= kFar) {
      ++near;
    } else {
      far += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", row.kernel, row.title, row.predicted_us,
                         row.measured_us, row.predicted_us / row.measured_us);
    }
  }
  std::string text = fmt::format(
      "{} kernels at {} sizes, cold and warm: the median error is {:.1f} %, and {} of {} ({:.0f} %) are "
      "within a "
      "factor of two.",
      kernels.size(), rows.size(), 100 * median_error(errors), near, rows.size(),
      100.0 * static_cast<double>(near) / static_cast<double>(rows.size()));
  if (far.empty()) return text + "\n";
  return text +
         "\nThose that are not:\n\n| kernel | size | predicted, us | measured, us | predicted over measured "
         "|\n"
         "| --- | --- | ---: | ---: | ---: |\n" +
         far;
}

std::string plain_table(const std::vector<Agreement>& rows) {
  std::string text =
      "| kernel | size | predicted, us | measured, us | predicted over measured |\n"
      "| --- | --- | ---: | ---: | ---: |\n";
  for (const Agreement& row : rows) {
    text += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", row.kernel, row.title, row.predicted_us,
                        row.measured_us, row.predicted_us / row.measured_us);
  }
  return text;
}

}  // namespace dent::test
