// SPDX-License-Identifier: MIT
#include "patterns/evidence.h"

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "ledger/ledger.h"

namespace dent {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void collect(std::span<const Record> records, std::vector<Application>& applications) {
  for (const Record& record : records) {
    if (record.kind == "pattern") applications.push_back(application_of(record.data));
  }
}

}  // namespace

nlohmann::json to_json(const Application& application) {
  nlohmann::json record{{"pattern", application.pattern}, {"outcome", application.outcome}};
  if (!application.bottleneck.empty()) record["bottleneck"] = application.bottleneck;
  if (application.gain) record["gain"] = *application.gain;
  return record;
}

Application application_of(const nlohmann::json& record) {
  Application application{.pattern = record.at("pattern").get<std::string>(),
                          .bottleneck = record.value("bottleneck", ""),
                          .outcome = record.at("outcome").get<std::string>()};
  if (record.contains("gain")) application.gain = record.at("gain").get<double>();
  return application;
}

void learn(std::span<Pattern> patterns, std::span<const Application> applications) {
  for (Pattern& pattern : patterns) {
    std::vector<double> gains;
    for (const Application& application : applications) {
      if (!same_name(application.pattern, pattern.name)) continue;
      ++pattern.evidence.tries;
      if (application.outcome == "kept") ++pattern.evidence.kept;
      if (application.gain) gains.push_back(*application.gain);
      if (application.outcome == "failed" || (application.gain && *application.gain < 1))
        ++pattern.evidence.failures;
    }
    if (!gains.empty()) pattern.evidence.median_gain = median(std::move(gains));
  }
}

void learn(std::span<Pattern> patterns, std::span<const Record> records) {
  std::vector<Application> applications;
  collect(records, applications);
  learn(patterns, applications);
}

void learn(std::span<Pattern> patterns, const SessionStore& store) {
  std::vector<Application> applications;
  for (const SessionFolder& session : store.list()) {
    try {
      const auto content = read_ledger(session.ledger());
      std::vector<Application> of_session;  // all of a ledger's or none
      collect(content.records, of_session);
      applications.insert(applications.end(), of_session.begin(), of_session.end());
    } catch (const std::exception&) {  // dent log says what is wrong with it
    }
  }
  learn(patterns, applications);
}

}  // namespace dent
