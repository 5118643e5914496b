// SPDX-License-Identifier: MIT
#include "diagnose/tree.h"

#include <set>

#include "base/error.h"
#include "base/text.h"
#include "project/strict_table.h"

namespace dent {
namespace {

std::vector<Condition> conditions(StrictTable& table, const char* key) {
  std::vector<Condition> found;
  for (const std::string& text : table.texts(key)) {
    try {
      found.emplace_back(text);
    } catch (const Error& problem) {
      table.fail(key, problem.what());
    }
  }
  return found;
}

Bottleneck read_bottleneck(StrictTable table) {
  Bottleneck bottleneck{.name = table.required_text("name"),
                        .title = table.required_text("title"),
                        .says = table.required_text("says"),
                        .phase = table.text("phase").value_or(""),
                        .advice = table.text("advice").value_or(""),
                        .when = conditions(table, "when"),
                        .unless = conditions(table, "unless")};
  table.done();
  return bottleneck;
}

Target read_target(StrictTable table) {
  Target target{.quantity = table.required_text("quantity"),
                .label = table.required_text("label"),
                .unit = table.text("unit").value_or(""),
                .good = conditions(table, "good")};
  table.done();
  return target;
}

}  // namespace

Tree parse_tree(std::string_view toml, const std::string& file) {
  StrictTable root = StrictTable::parse(toml, file);
  Tree tree;
  std::set<std::string> names;
  for (StrictTable& table : root.tables("bottleneck")) {
    tree.bottlenecks.push_back(read_bottleneck(table));
    if (!names.insert(tree.bottlenecks.back().name).second) table.fail("name", "is used twice");
  }
  for (StrictTable& table : root.tables("target")) tree.targets.push_back(read_target(table));
  root.done();
  if (tree.bottlenecks.empty() || !tree.bottlenecks.back().when.empty()) {
    throw Error(ErrorCode::invalid, file + ": the last bottleneck must have no conditions",
                "add a last bottleneck for kernels that none of the others describes");
  }
  return tree;
}

Tree load_tree(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text)
    throw Error(ErrorCode::environment, "can't read the decision tree " + file.string(),
                "install dent again");
  return parse_tree(*text, file.filename().string());
}

}  // namespace dent
