// SPDX-License-Identifier: MIT
// Formats predictions as text, JSON and SVG.
#pragma once

#include <span>
#include <string>

#include "predict/forecast.h"
#include "records/build.h"

namespace dent {

std::string forecast_text(const Forecast& forecast);              // one prediction with all details
std::string forecast_table(std::span<const Forecast> forecasts);  // one line per prediction
// For --json and the ledger. `shape`: name of the project's shape, if any.
record::Prediction to_record(const Forecast& forecast, const std::string& shape = {});
std::string forecast_plot(
    std::span<const Forecast> forecasts);  // SVG file: expected time over size, one curve per GPU

}  // namespace dent
