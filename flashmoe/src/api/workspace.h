// SPDX-License-Identifier: MIT
// The caller's workspace: checked, or asked for.
#pragma once

#include "flashmoe/attention.h"

namespace flashmoe {

// `needed` bytes of the workspace; `call` and `query` are named in messages.
Workspace checked_workspace(const char* call, const char* query, Workspace workspace, std::size_t needed);

// `needed` bytes from the source, which is not asked for none.
Workspace allocated_workspace(const char* call, const char* query, WorkspaceSource source,
                              std::size_t needed);

}  // namespace flashmoe
