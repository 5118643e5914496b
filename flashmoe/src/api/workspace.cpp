// SPDX-License-Identifier: MIT
#include "api/workspace.h"

namespace flashmoe {

Workspace checked_workspace(const char* call, const char* query, Workspace workspace, std::size_t needed) {
  if (needed == 0) return {};
  if (workspace.data == nullptr || workspace.bytes < needed) {
    throw Error(ErrorCode::workspace,
                std::string(call) + ": workspace has " +
                    std::to_string(workspace.data ? workspace.bytes : 0) + " bytes; " +
                    std::to_string(needed) + " are needed",
                std::string("ask ") + query + " with the same arguments");
  }
  if (const auto past = reinterpret_cast<std::uintptr_t>(workspace.data) % kWorkspaceAlignment; past != 0) {
    throw Error(ErrorCode::workspace,
                std::string(call) + ": workspace starts " + std::to_string(past) +
                    " bytes past a multiple of " + std::to_string(kWorkspaceAlignment) +
                    "; it must start at one",
                "use Workspace::in, which aligns it");
  }
  return {workspace.data, needed};
}

Workspace allocated_workspace(const char* call, const char* query, WorkspaceSource source,
                              std::size_t needed) {
  if (needed == 0) return {};
  void* data = source.allocate == nullptr ? nullptr : source.allocate(source.context, needed);
  if (data == nullptr) {
    throw Error(ErrorCode::workspace, std::string(call) + ": the caller has no memory for a workspace of " +
                                          std::to_string(needed) + " bytes");
  }
  return checked_workspace(call, query, {data, needed}, needed);
}

}  // namespace flashmoe
