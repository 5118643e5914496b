// SPDX-License-Identifier: MIT
#include "records/line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "records/json.h"
#include "records/schema1.h"

namespace dent {
namespace {

constexpr std::string_view kChain = ",\"chain\":";

// Reads a record by the name of its kind; returns Unknown for an unknown name.
template <std::size_t I = 0>
AnyRecord read_kind(const std::string& kind, const nlohmann::json& data) {
  if constexpr (I + 1 == std::variant_size_v<RecordKinds>) {
    return record::Unknown{kind, data.dump()};
  } else {
    using Kind = std::variant_alternative_t<I, RecordKinds>;
    if (Kind::kKind != kind) return read_kind<I + 1>(kind, data);
    Kind read{};
    read_json(data, [&read](Fields& f) { fields(f, read); });
    return read;
  }
}

std::string data_text(const AnyRecord& data) {
  return std::visit(
      [](const auto& kind) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, record::Unknown>) {
          return kind.text;
        } else {
          return to_json_text(kind);
        }
      },
      data);
}

}  // namespace

std::string_view kind_of(const AnyRecord& data) {
  return std::visit(
      [](const auto& kind) -> std::string_view {
        if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, record::Unknown>) {
          return kind.kind;
        } else {
          return kind.kKind;
        }
      },
      data);
}

std::string to_line(const Record& record, std::string& chain) {
  std::string line = fmt::format(R"({{"schema":{},"n":{},"time":{},"kind":{})", kRecordSchema, record.number,
                                 json_string(record.time), json_string(kind_of(record.data)));
  if (!record.step.empty()) line += ",\"step\":" + json_string(record.step);
  if (!record.job.empty())
    line += fmt::format(R"(,"job":{},"job_n":{})", json_string(record.job), record.job_number);
  line += ",\"data\":" + data_text(record.data);
  chain = sha256(chain + line);
  return line + std::string(kChain) + json_string(chain) + "}";
}

ParsedLine parse_line(std::string_view text, std::string& chain) {
  ParsedLine parsed;
  const nlohmann::json line = require_json(text);
  std::string time, kind, step, job;
  std::int64_t job_number = 0;
  read_json(line, [&](Fields& f) {
    f("schema", parsed.schema, "schema of the line");
    if (parsed.schema > kRecordSchema) {
      throw Error(ErrorCode::invalid,
                  fmt::format("the record has schema {}; this dent reads schemas up to {}", parsed.schema,
                              kRecordSchema),
                  "read it with the newer dent that wrote it");
    }
    f("n", parsed.number, "number of the line");
    f("time", time, "UTC");
    f("kind", kind, "kind of the record");
    f.may("step", step, "step that it belongs to");
    f.may("job", job, "job that wrote it on another machine");
    f.may("job_n", job_number, "its number in the job's ledger");
  });
  const auto data = line.find("data");
  if (data == line.end()) throw Error(ErrorCode::invalid, "field data is missing");
  try {
    if (parsed.schema == 1) {
      chain = sha256(chain + std::string(text) + "\n");
      for (const TodaysRecord& record : from_schema1(kind, *data)) {
        parsed.records.push_back(
            {parsed.number, time, record.step, read_kind(record.kind, require_json(record.data)), {}, 0});
      }
      return parsed;
    }
    parsed.records.push_back({parsed.number, time, step, read_kind(kind, *data), job, job_number});
  } catch (const nlohmann::json::exception& problem) {
    throw Error(ErrorCode::invalid, fmt::format("{}: {}", kind, problem.what()));
  } catch (const Error& problem) {
    throw Error(ErrorCode::invalid, fmt::format("{}: {}", kind, problem.in_one_line()));
  }
  const auto at = text.rfind(kChain);
  const std::string expected =
      at == std::string_view::npos ? "" : sha256(chain + std::string(text.substr(0, at)));
  parsed.chain_fits =
      at != std::string_view::npos && text.substr(at + kChain.size()) == json_string(expected) + "}";
  chain = expected;
  return parsed;
}

std::string utc_now() { return utc_text(std::chrono::system_clock::now()); }

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     ms);
}

}  // namespace dent
