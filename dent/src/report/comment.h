// SPDX-License-Identifier: MIT
// A session between two commits as a comment on a pull request.
#pragma once

#include <string>

#include "report/session_view.h"

namespace dent {

struct CommentWords {
  std::string before, after;  // the commits
  Verdict verdict;            // on the change
  std::string link{};         // to the report; empty: none
};

// Markdown. Its first line is a mark that stays the same for a project, by which a later comment replaces it.
std::string comment_on(const SessionView& session, const CommentWords& words);

}  // namespace dent
