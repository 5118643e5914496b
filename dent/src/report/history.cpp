// SPDX-License-Identifier: MIT
#include "report/history.h"

#include "base/error.h"
#include "base/text.h"
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
    entry.candidate = view.session.candidate;
    entry.device = view.device();
    entry.mean = view.mean() ? view.mean() : view.climb.winner;
    entry.cost = view.cost;
    entry.money = view.money;
    if (view.environment && view.environment->git) entry.commit = view.environment->git->commit;
  } catch (const Error& error) {
    entry.unreadable = first_line(error.what());
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
