// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "ledger/session_store.h"

namespace dent {

struct ReportFiles {
  std::filesystem::path markdown, html, json;
};

// Makes report.md, report.html and report.json in the session's folder from its ledger and those of the
// sessions before it. Each file is there as a whole or not at all.
ReportFiles write_reports(const SessionStore& store, const SessionFolder& session);

}  // namespace dent
