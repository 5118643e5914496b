// SPDX-License-Identifier: MIT
// The content of the live page, read from a session's files. The measuring process takes no part in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ledger/session_store.h"
#include "report/html_page.h"

namespace dent {

// The page at one moment. Parts that are unchanged need not be sent again.
struct Snapshot {
  std::string title;
  std::vector<PagePart> parts;  // "now" first, then the report's parts, "log" last
};

class Feed {
 public:
  // `session`: an id, the beginning of one, or "latest", which follows new sessions. Throws Error if there is
  // none.
  Feed(std::filesystem::path project, std::string session);

  // The current content; the same object as long as nothing has changed. Thread-safe. If the files can't be
  // read at the moment (such as a ledger being edited), "now" says so.
  std::shared_ptr<const Snapshot> look();

 private:
  struct Seen {  // to notice changes
    std::string session;
    std::uintmax_t bytes = 0;
    bool running = false;
    bool operator==(const Seen&) const = default;
  };
  Seen see() const;

  std::filesystem::path project_;
  std::string session_;
  std::mutex mutex_;  // protects the members below
  Seen seen_;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace dent
