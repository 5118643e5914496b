// SPDX-License-Identifier: MIT
#include "report/html_page.h"

#include <fmt/format.h>

#include <utility>

#include "report/format.h"
#include "report/page/style.h"

namespace dent {
namespace {

std::string class_attribute(std::string_view css_class) {
  return css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class);
}

}  // namespace

HtmlPage::HtmlPage(std::string_view title) : whole_(true) {
  text_ = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<main>\n",
      escape_html(title), kPageStyle);
}

void HtmlPage::part(const PagePart& part) {
  text_ += fmt::format("<section id=\"{}\">\n{}</section>\n", part.id, part.markup);
}

void HtmlPage::section(std::string_view title) { text_ += fmt::format("<h2>{}</h2>\n", escape_html(title)); }

void HtmlPage::subsection(std::string_view title) {
  text_ += fmt::format("<h3>{}</h3>\n", escape_html(title));
}

void HtmlPage::paragraph(std::string_view text, std::string_view css_class) {
  text_ += fmt::format("<p{}>{}</p>\n", class_attribute(css_class), escape_html(text));
}

void HtmlPage::markup(std::string_view markup) { text_ += markup; }

void HtmlPage::begin_table(std::initializer_list<TableCell> head) {
  text_ += "<div class=\"scroll\"><table>\n<thead>";
  cells("th", head);
  text_ += "</thead>\n<tbody>\n";
}

void HtmlPage::row(std::initializer_list<TableCell> row_cells) { cells("td", row_cells); }

void HtmlPage::cells(std::string_view tag, std::initializer_list<TableCell> row_cells) {
  text_ += "<tr>";
  for (const TableCell& cell : row_cells) {
    text_ += fmt::format("<{}{}>{}</{}>", tag, class_attribute(cell.css_class),
                         cell.is_markup ? cell.text : escape_html(cell.text), tag);
  }
  text_ += "</tr>\n";
}

void HtmlPage::end_table() { text_ += "</tbody></table></div>\n"; }

void HtmlPage::details(std::string_view summary, std::string_view preformatted) {
  text_ += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", escape_html(summary),
                       escape_html(preformatted));
}

std::string HtmlPage::take() && {
  if (whole_) text_ += "</main>\n</body>\n</html>\n";
  return std::move(text_);
}

}  // namespace dent
