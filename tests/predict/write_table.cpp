// SPDX-License-Identifier: MIT
// write_table RESULTS DOCUMENT: puts the tables of predicted against measured times between the document's
// marks.
#include <fstream>
#include <iostream>
#include <sstream>

#include "predict/agreement.h"

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: write_table docs/results docs/predict-agreement.md\n";
    return 2;
  }
  constexpr const char* kBegin = "<!-- agreement: written by scripts/predict-table -->\n";
  constexpr const char* kEnd = "<!-- end of agreement -->";
  std::ostringstream text;
  text << std::ifstream(words[2]).rdbuf();
  std::string document = text.str();
  const std::size_t begin = document.find(kBegin), end = document.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << words[2] << " has no marks to write between\n";
    return 1;
  }
  const std::size_t from = begin + std::string(kBegin).size();
  document.replace(from, end - from, dent::test::agreement_tables(dent::test::agreements(words[1])));
  std::ofstream(words[2]) << document;
  return 0;
}
