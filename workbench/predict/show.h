// SPDX-License-Identifier: MIT
// Predictions for people, programs and pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "predict/forecast.h"

namespace dent {

std::string forecast_text(const Forecast& forecast);              // one, in full
std::string forecast_table(std::span<const Forecast> forecasts);  // a line for each
nlohmann::json forecast_json(const Forecast& forecast);           // docs/predict.md has the fields
std::string forecast_plot(
    std::span<const Forecast> forecasts);  // expected time over size, by GPU: an SVG file

}  // namespace dent
