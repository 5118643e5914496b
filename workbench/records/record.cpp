// SPDX-License-Identifier: MIT
#include "records/record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "records/json_text.h"

namespace dent {
namespace {

// nlohmann-json would write null and say nothing.
void refuse_what_json_lacks(const nlohmann::json& value, const std::string& at) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    throw Error(ErrorCode::internal, fmt::format("record field {} is {}", at, value.get<double>()),
                "leave the field out where there is no number");
  }
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) refuse_what_json_lacks(inner, at + "." + key);
}

}  // namespace

std::string to_line(const Record& record) {
  refuse_what_json_lacks(record.data, record.kind);
  // A candidate's last words may be any bytes: what is not UTF-8 becomes U+FFFD.
  const auto text = [](const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return fmt::format(R"({{"schema":{},"n":{},"time":{},"kind":{},"data":{}}})", kRecordSchema, record.number,
                     text(record.time), text(record.kind), text(record.data));
}

Record parse_record(std::string_view line) {
  try {
    const auto json = require_json(line);
    if (const int schema = json.at("schema"); schema > kRecordSchema) {
      throw Error(
          ErrorCode::invalid,
          fmt::format("a record of schema {}; this dent knows schemas up to {}", schema, kRecordSchema),
          "read it with the newer dent that wrote it");
    }
    return {json.at("n"), json.at("time"), json.at("kind"), json.at("data")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::invalid, fmt::format("not a record: {}", error.what()));
  }
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     ms);
}

}  // namespace dent
