// SPDX-License-Identifier: MIT
#include "report/history.h"

#include <algorithm>

#include "base/error.h"
#include "report/session_view.h"

namespace dent {
namespace {

HistoryEntry entry_of(const SessionFolder& session) {
  HistoryEntry entry;
  entry.id = session.id;
  try {
    const SessionView view = load_session(session);
    entry.started = view.started;
    entry.verdict = view.verdict;
    entry.candidate = view.text("candidate");
    entry.device = view.text("device_name").empty() ? view.text("device") : view.text("device_name");
    entry.mean = view.mean ? view.mean : view.climb.winner;
    entry.cost = view.cost;
    entry.money = view.money;
    if (view.environment.contains("git")) entry.commit = view.environment.at("git").value("commit", "");
  } catch (const Error& error) {
    const std::string text = error.what();
    entry.unreadable = text.substr(0, text.find('\n'));
  }
  return entry;
}

}  // namespace

std::vector<HistoryEntry> history_before(const SessionStore& store, const std::string& id, std::size_t most) {
  std::vector<HistoryEntry> entries;
  const auto sessions = store.list();
  for (auto session = sessions.rbegin(); session != sessions.rend() && entries.size() < most; ++session) {
    if (session->id < id) entries.push_back(entry_of(*session));
  }
  return entries;
}

}  // namespace dent
