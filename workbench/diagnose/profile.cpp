// SPDX-License-Identifier: MIT
#include "diagnose/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "build/ptxas.h"

namespace dent {

std::string short_name(const std::string& kernel) {
  std::string written = demangled(kernel);
  for (const std::string_view unnamed : {"(anonymous namespace)::", "<unnamed>::"}) {
    for (auto at = written.find(unnamed); at != std::string::npos; at = written.find(unnamed)) {
      written.erase(at, unnamed.size());
    }
  }
  std::string name = written.substr(0, written.find_first_of("<("));
  if (const auto blank = name.find_last_of(' '); blank != std::string::npos) name.erase(0, blank + 1);
  if (const auto colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name.empty() ? written : name;
}

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json record{{"tool", profile.tool},
                        {"tree", profile.tree},
                        {"device", profile.device},
                        {"degraded", !profile.degraded.empty()},
                        {"metrics", to_json(profile.quantities)},
                        {"tool_s", profile.tool_seconds},
                        {"elapsed_s", profile.seconds}};
  const auto put = [&record](const char* key, const std::string& text) {
    if (!text.empty()) record[key] = text;
  };
  put("why", profile.degraded);
  put("kernel", profile.kernel);
  put("limiter", profile.limiter);
  put("report", profile.report);
  if (profile.arch > 0) record["arch"] = profile.arch;
  if (!profile.absent.empty()) record["absent"] = profile.absent;
  if (!profile.notes.empty()) record["notes"] = profile.notes;
  nlohmann::json launches = nlohmann::json::array();
  for (const Launch& launch : profile.launches) {
    nlohmann::json entry{
        {"kernel", launch.kernel}, {"ctas", launch.ctas}, {"cta_threads", launch.cta_threads}};
    if (launch.duration_us > 0) entry["duration_us"] = launch.duration_us;
    launches.push_back(std::move(entry));
  }
  if (!launches.empty()) record["launches"] = std::move(launches);
  return record;
}

}  // namespace dent
