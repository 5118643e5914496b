// SPDX-License-Identifier: MIT
// Builds a page piece by piece. Text is escaped here and nowhere else: what takes `markup` says so.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace dent {

struct TableCell {
  std::string text;
  std::string_view css_class = {};  // "number" is aligned to the right
  bool is_markup = false;
};

// A part of a page that has a name.
struct PagePart {
  std::string id, markup;
};

class HtmlPage {
 public:
  HtmlPage() = default;  // a part of one, without head and foot
  explicit HtmlPage(std::string_view title);
  void part(const PagePart& part);  // one that is empty too: its place is known
  void section(std::string_view title);
  void subsection(std::string_view title);
  void paragraph(std::string_view text, std::string_view css_class = {});
  void markup(std::string_view markup);
  void begin_table(std::initializer_list<TableCell> head);
  void row(std::initializer_list<TableCell> cells);
  void end_table();
  void details(std::string_view summary, std::string_view preformatted);
  std::string take() &&;

 private:
  void cells(std::string_view tag, std::initializer_list<TableCell> cells);
  bool whole_ = false;
  std::string text_;
};

}  // namespace dent
