// SPDX-License-Identifier: MIT
// Builds an HTML page. All text is escaped here; only functions that take `markup` insert it unchanged.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace dent {

struct TableCell {
  std::string text;
  std::string_view css_class = {};  // such as "number", which aligns to the right
  bool is_markup = false;
};

// A named part of a page.
struct PagePart {
  std::string id, markup;
};

class HtmlPage {
 public:
  HtmlPage() = default;  // a part of a page, without head and foot
  explicit HtmlPage(std::string_view title);
  void part(const PagePart& part);  // added even if it is empty, so that a later update finds its place
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
