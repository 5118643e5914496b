// SPDX-License-Identifier: MIT
// What the live page shows of a session, read from its files: the measuring process does nothing for it, and
// does not know of it.
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

// The page at one moment. Parts that are equal to those before need not be shown again.
struct Snapshot {
  std::string title;
  std::vector<PagePart> parts;  // "now" first, "log" last, the report's between them
};

class Feed {
 public:
  // `session`: an id, the beginning of one, or "latest", which follows new ones. Throws Error where there is
  // none.
  Feed(std::filesystem::path project, std::string session);

  // As it is now; the same object while nothing has changed. Any thread may ask. What can't be read at the
  // moment (a ledger that is edited by somebody else) is in "now".
  std::shared_ptr<const Snapshot> look();

 private:
  struct Seen {  // by which a change is noticed
    std::string session;
    std::uintmax_t bytes = 0;
    bool running = false;
    bool operator==(const Seen&) const = default;
  };
  Seen see() const;

  std::filesystem::path project_;
  std::string session_;
  std::mutex mutex_;  // of what follows
  Seen seen_;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace dent
