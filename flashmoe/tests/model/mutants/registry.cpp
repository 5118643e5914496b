// SPDX-License-Identifier: MIT
#include "model/mutants/registry.h"

#include <map>

namespace flashmoe::test {
namespace {

// Both are filled before main(), in any order.
std::map<std::string, Form>& forms() {
  static std::map<std::string, Form> all;
  return all;
}

struct List {
  std::vector<Listed::Row> rows;
  std::vector<Statement> statements;
};
std::map<std::string, List>& lists() {
  static std::map<std::string, List> all;
  return all;
}

}  // namespace

Registration::Registration(const std::string& name, const char* form, decltype(Form::run) run) {
  forms()[form] = {.name = name, .run = run};
}

Registration::Registration(const std::string& name, const char* form, decltype(Form::run_backward) run) {
  forms()[form] = {.name = name, .run_backward = run};
}

Registration::Registration(const std::string& name, const char* form, decltype(Form::prepare) run) {
  forms()[form] = {.name = name, .prepare = run};
}

Registration::Registration(const std::string& name, const char* form, decltype(Form::prepare_rows) run) {
  forms()[form] = {.name = name, .prepare_rows = run};
}

Listed::Listed(const char* kernel, std::vector<Row> rows, std::vector<Statement> statements) {
  lists()[kernel] = {std::move(rows), std::move(statements)};
}

std::vector<KernelMutants> all_mutants() {
  std::vector<KernelMutants> all;
  for (const auto& [kernel, list] : lists()) {
    KernelMutants& of = all.emplace_back(kernel);
    of.statements = list.statements;
    for (const Listed::Row& row : list.rows) {
      const Form& form = forms().at(row.form);
      if (row.mistake == std::string("each line")) {
        of.line_by_line.push_back(form);
      } else {
        of.mutants.push_back({form, row.mistake, row.number});
      }
    }
  }
  return all;
}

}  // namespace flashmoe::test
