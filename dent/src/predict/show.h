// SPDX-License-Identifier: MIT
// Predictions for people, programs and pages.
#pragma once

#include <span>
#include <string>

#include "predict/forecast.h"
#include "records/build.h"

namespace dent {

std::string forecast_text(const Forecast& forecast);              // one, in full
std::string forecast_table(std::span<const Forecast> forecasts);  // a line for each
// For --json and the ledger. `shape`: of a project, where there is one.
record::Prediction to_record(const Forecast& forecast, const std::string& shape = {});
std::string forecast_plot(
    std::span<const Forecast> forecasts);  // expected time over size, by GPU: an SVG file

}  // namespace dent
