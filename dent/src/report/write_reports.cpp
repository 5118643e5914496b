// SPDX-License-Identifier: MIT
#include "report/write_reports.h"

#include "report/document.h"
#include "report/history.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/session_view.h"
#include "system/durable_file.h"

namespace dent {

ReportFiles write_reports(const SessionStore& store, const SessionFolder& session) {
  const SessionView view = load_session(session);
  const auto history = history_before(store, session.id);
  const ReportFiles files{session.folder / "report.md", session.folder / "report.html",
                          session.folder / "report.json"};
  write_durably(files.markdown, markdown_report(view, history));
  write_durably(files.html, html_report(view, history));
  write_durably(files.json, indented(json_report(view, history).text()) + '\n');
  return files;
}

}  // namespace dent
