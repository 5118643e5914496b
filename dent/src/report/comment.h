// SPDX-License-Identifier: MIT
// Formats a comparison of two commits as a comment on a pull request.
#pragma once

#include <string>

#include "report/session_view.h"

namespace dent {

struct CommentWords {
  std::string before, after;  // names of the commits
  Verdict verdict;            // verdict on the change
  std::string link{};         // URL of the report; empty: none
};

// Markdown. Its first line is a marker, equal for all comments of a project, by which a later comment finds
// and replaces an earlier one.
std::string comment_on(const SessionView& session, const CommentWords& words);

}  // namespace dent
