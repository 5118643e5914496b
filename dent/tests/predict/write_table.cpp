// SPDX-License-Identifier: MIT
// write_table DOCS RESULTS: writes tables of predicted and measured times between the markers in the pages in
// DOCS.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "predict/agreement.h"

namespace {

// Replaces the text between "<!-- NAME: written by scripts/predict-table -->" and "<!-- end of NAME -->".
void write(const std::filesystem::path& page, const std::string& name, const std::string& what) {
  const std::string begins = "<!-- " + name + ": written by scripts/predict-table -->\n";
  std::ostringstream text;
  text << std::ifstream(page).rdbuf();
  std::string document = text.str();
  const std::size_t begin = document.find(begins), end = document.find("<!-- end of " + name + " -->");
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw std::runtime_error(page.string() + " has no marks for " + name);
  const std::size_t from = begin + begins.size();
  document.replace(from, end - from, what);
  std::ofstream(page) << document;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: write_table docs results\n";
    return 2;
  }
  const std::filesystem::path docs = words[1], results = words[2];
  try {
    using namespace dent::test;
    const auto plain = plain_agreements(results);
    write(docs / "predict-agreement.md", "agreement", agreement_tables(agreements(results)));
    write(docs / "predict-agreement.md", "plain kernels", plain_table(plain));
    write(docs / "predict.md", "plain kernels", plain_summary(plain));
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
  return 0;
}
