// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "ledger/session_store.h"

namespace dent {

struct ReportFiles {
  std::filesystem::path markdown, html, json;
};

// Writes report.md, report.html and report.json into the session's folder, from its ledger and those of
// earlier sessions. Each file is replaced atomically.
ReportFiles write_reports(const SessionStore& store, const SessionFolder& session);

}  // namespace dent
