// SPDX-License-Identifier: MIT
#include "executors/uptime_book.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "records/json.h"
#include "records/line.h"
#include "system/durable_file.h"
#include "system/file_descriptor.h"

namespace dent {

// One stretch, in milliseconds since 1970. Not in the unnamed namespace: Fields looks for fields() here.
struct Stretch {
  std::int64_t from_ms = 0, to_ms = 0;  // to: while it is open, when it was last seen up
  UptimeFrom begin = UptimeFrom::started;
  UptimeTo end = UptimeTo::still_up;
};
static void fields(Fields& f, Stretch& stretch) {
  f("from_ms", stretch.from_ms, "since 1970");
  f("to_ms", stretch.to_ms, "its end, or when it was last seen up");
  f("begin", stretch.begin, "why it is counted from then on");
  f("end", stretch.end, "why it is counted up to then");
}

// The last one may be open.
struct Stretches {
  std::vector<Stretch> all{};
  bool open() const { return !all.empty() && all.back().end == UptimeTo::still_up; }
};
static void fields(Fields& f, Stretches& stretches) { f("stretches", stretches.all, "not booked yet"); }

namespace {

using Time = UptimeBook::Time;
constexpr std::int64_t kUnseenMs = 120'000;  // longer without a look: whether it was up is not known

std::int64_t ms_of(Time time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
std::string utc_of(std::int64_t ms) { return utc_text(Time(std::chrono::milliseconds(ms))); }

class Page {
 public:
  explicit Page(const std::filesystem::path& file)
      : file_(file), lock_(open_file(file.string() + ".lock", O_RDWR | O_CREAT, "can't open")) {
    flock(lock_.get(), LOCK_EX);
    if (const auto text = read_text(file_)) held_ = from_json_text<Stretches>(*text);
  }
  Stretches* operator->() { return &held_; }
  void write() const { write_durably(file_, to_json_text(held_) + "\n"); }

  void close(std::int64_t at_ms, UptimeTo why) {
    if (!held_.open()) return;
    Stretch& last = held_.all.back();
    last.to_ms = std::max(last.from_ms, at_ms);
    last.end = why;
  }

 private:
  std::filesystem::path file_;
  FileDescriptor lock_;
  Stretches held_;
};

}  // namespace

void UptimeBook::started(Time now) const {
  Page page(file_);
  page.close(page->open() ? page->all.back().to_ms : 0, UptimeTo::taken_away);
  page->all.push_back({ms_of(now), ms_of(now), UptimeFrom::started});
  page.write();
}

bool UptimeBook::found_up(Time now) const {
  Page page(file_);
  const bool known = page->open() && ms_of(now) - page->all.back().to_ms <= kUnseenMs;
  if (known) {
    page->all.back().to_ms = std::max(page->all.back().to_ms, ms_of(now));
  } else {
    page.close(page->open() ? page->all.back().to_ms : 0, UptimeTo::taken_away);
    page->all.push_back({ms_of(now), ms_of(now), UptimeFrom::found_running});
  }
  page.write();
  return !known;
}

void UptimeBook::in_use(Time now) const {
  Page page(file_);
  if (!page->open() || ms_of(now) - page->all.back().to_ms > kUnseenMs) return;
  page->all.back().to_ms = std::max(page->all.back().to_ms, ms_of(now));
  page.write();
}

void UptimeBook::found_down(std::optional<Time> last) const {
  Page page(file_);
  if (!page->open()) return;
  page.close(last ? ms_of(*last) : page->all.back().to_ms, UptimeTo::taken_away);
  page.write();
}

void UptimeBook::stopped(Time now) const {
  Page page(file_);
  page.close(ms_of(now), UptimeTo::stopped);
  page.write();
}

void UptimeBook::book(Time now, const std::function<void(const record::Uptime&)>& take) const {
  Page page(file_);
  const bool goes_on = page->open();
  if (goes_on) page->all.back().to_ms = std::max(page->all.back().to_ms, ms_of(now));
  for (const Stretch& one : page->all) {
    take({.executor = executor_,
          .from = utc_of(one.from_ms),
          .to = utc_of(one.to_ms),
          .seconds = static_cast<double>(one.to_ms - one.from_ms) / 1000,
          .begin = one.begin,
          .end = one.end});
  }
  const std::int64_t until = goes_on ? page->all.back().to_ms : 0;
  page->all.clear();
  if (goes_on) page->all.push_back({until, until, UptimeFrom::goes_on});
  page.write();
}

}  // namespace dent
