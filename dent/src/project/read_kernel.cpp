// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "project/read_optimize.h"

namespace dent {
namespace {

DeviceKind read_device(StrictTable& table, DeviceKind otherwise) {
  const auto text = table.text("device");
  if (!text) return otherwise;
  if (*text == "cpu") return DeviceKind::cpu;
  if (*text == "cuda") return DeviceKind::cuda;
  table.fail("device", "is \"" + *text + "\"; accepted are cpu, cuda");
}

bool is_cuda_source(const std::string& file) {
  const auto kind = std::filesystem::path(file).extension();
  return kind == ".cu" || kind == ".cuh";
}

LaunchRule read_launch(StrictTable table) {
  LaunchRule launch;
  launch.grid = table.text("grid").value_or("");
  launch.block = table.text("block").value_or("");
  launch.smem = table.text("smem").value_or("");
  launch.cluster = table.text("cluster").value_or("");
  launch.exps = table.text("exps").value_or("");
  launch.kernel = table.text("kernel").value_or("");
  launch.gpu = table.text("gpu").value_or("");
  if (const auto by = table.text("by")) {
    if (*by != "flashmoe") table.fail("by", "is \"" + *by + "\"; accepted is flashmoe");
    launch.by_flashmoe = true;
  }
  if (launch.by_flashmoe == !launch.grid.empty() || launch.grid.empty() != launch.block.empty()) {
    table.fail("grid", "a launch has grid and block, or by = \"flashmoe\"",
               "grid = \"ceil(S/64), B*H\" and block = \"256\", as expressions over a shape's sizes");
  }
  table.done();
  return launch;
}

}  // namespace

Kernel read_kernel(StrictTable& table, Kernel kernel) {
  const auto take_list = [&](const char* key, std::vector<std::string>& list) {
    if (table.has(key)) list = table.texts(key);
  };
  const auto take_text = [&](const char* key, std::string& text) {
    if (table.has(key)) text = *table.text(key);
  };
  take_list("sources", kernel.sources);
  take_text("entry", kernel.entry);
  take_text("setup", kernel.setup);
  take_list("flags", kernel.flags);
  take_list("include", kernel.include);
  take_list("link", kernel.link);
  take_text("build", kernel.build);
  take_text("library", kernel.library);
  take_text("python", kernel.python);
  DeviceKind device = kernel.device;
  for (const std::string& source : kernel.sources) {
    if (is_cuda_source(source)) device = DeviceKind::cuda;
  }
  kernel.device = read_device(table, device);
  if (auto launch = table.table("launch")) kernel.launch = read_launch(*launch);
  const int origins = (kernel.python.empty() ? 0 : 1) + (kernel.library.empty() ? 0 : 1) +
                      (!kernel.sources.empty() && kernel.library.empty() ? 1 : 0);
  if (origins != 1) {
    table.fail("sources", "a kernel has one of sources, library and python",
               "sources = [\"kernel.cpp\"], or build and library, or python = \"module:function\"");
  }
  if (!kernel.python.empty() && kernel.python.find(':') == std::string::npos) {
    table.fail("python", "is \"" + kernel.python + "\"; it must be \"module:function\"");
  }
  if (kernel.python.empty() && kernel.entry.empty()) {
    table.fail("entry", "is missing",
               "the declaration of any C or C++ function, entry = \"void softmax(const float* x, float* y, "
               "int n)\"; or "
               "the name of a function as in dent/kernel.h");
  }
  if (!kernel.setup.empty() && !kernel.python.empty()) {
    table.fail("setup", "is for C and C++; a function in Python has the setup of its module",
               "def setup(...) beside the function, and a parameter `setup` of the function");
  }
  const auto declares = [](const std::string& text) { return text.find('(') != std::string::npos; };
  if (!kernel.setup.empty() && declares(kernel.setup) != declares(kernel.entry)) {
    table.fail("setup", "and entry are of two kinds: one is a declaration, one a name",
               "give both as declarations, or both as names of functions as in dent/kernel.h");
  }
  return kernel;
}

std::vector<Shape> read_shapes(StrictTable& root, const char* key) {
  std::vector<Shape> shapes;
  for (StrictTable& table : root.tables(key)) {
    Shape shape;
    shape.name = table.required_text("name");
    shape.weight = table.number("weight").value_or(1);
    if (!(shape.weight >= 0) || !std::isfinite(shape.weight))
      table.fail("weight", fmt::format("is {}; it must be 0 or more", shape.weight));
    shape.sizes = table.remaining_numbers();
    for (const Shape& other : shapes) {
      if (other.name == shape.name) table.fail("name", "\"" + shape.name + "\" is there twice");
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::optional<Sandbox> read_sandbox(StrictTable& table, const char* key) {
  const auto word = table.text(key);
  if (!word) return std::nullopt;
  const auto sandbox = parse_word<Sandbox>(*word);
  if (!sandbox) table.fail(key, fmt::format("is \"{}\"", *word), "write \"auto\", \"required\" or \"off\"");
  return sandbox;
}

void read_positive(StrictTable& table, const char* key, double& value) {
  if (const auto number = table.number(key)) {
    if (!(*number > 0)) table.fail(key, fmt::format("is {}; it must be above 0", *number));
    value = *number;
  }
}

}  // namespace dent
