// SPDX-License-Identifier: MIT
#include "watch/page.h"

#include <fmt/format.h>

#include "records/json_object.h"
#include "report/format.h"

namespace dent {
namespace {

std::string event(std::string_view kind, const JsonObject& data) {
  return fmt::format("event: {}\ndata: {}\n\n", kind, data.text());
}

const std::string* markup_of(const Snapshot* snapshot, const std::string& id) {
  if (snapshot == nullptr) return nullptr;
  for (const PagePart& part : snapshot->parts) {
    if (part.id == id) return &part.markup;
  }
  return nullptr;
}

}  // namespace

std::string watch_page(const Snapshot& snapshot) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"stylesheet\" href=\"/style.css\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<script src=\"/page.js\" defer></script>\n</head>\n<body>\n<main>\n",
      escape_html(snapshot.title));
  HtmlPage parts;
  for (const PagePart& part : snapshot.parts) parts.part(part);
  return text + std::move(parts).take() + "</main>\n</body>\n</html>\n";
}

std::string watch_events(const Snapshot* before, const Snapshot& now) {
  std::string text;
  if (before == nullptr || before->title != now.title) text += event("title", {{"title", now.title}});
  JsonList order;
  for (const PagePart& part : now.parts) order.add(part.id);
  if (before == nullptr || before->parts.size() != now.parts.size()) text += event("order", {{"ids", order}});
  for (const PagePart& part : now.parts) {
    const std::string* shown = markup_of(before, part.id);
    if (shown == nullptr || *shown != part.markup)
      text += event("part", {{"id", part.id}, {"markup", part.markup}});
  }
  return text + event("beat", {});
}

}  // namespace dent
