// SPDX-License-Identifier: MIT
#include "build/remedy.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "base/text.h"
#include "build/declaration.h"

namespace dent {
namespace {

// The text between two markers in a line; nothing if one is missing.
std::optional<std::string> between(const std::string& line, std::string_view before, std::string_view after) {
  const auto start = line.find(before);
  if (start == std::string::npos) return std::nullopt;
  const auto from = start + before.size();
  const auto end = line.find(after, from);
  if (end == std::string::npos) return std::nullopt;
  return line.substr(from, end - from);
}

// "softmax" for _Z7softmaxPKfPfii and for softmax(float const*, float*, int, int).
std::string plain_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? readable.get() : symbol;
  if (const auto open = name.find('('); open != std::string::npos && open > 0) name = name.substr(0, open);
  std::size_t start = 0;  // a template's name is preceded by its return type
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
    if (name[at] == ' ' && depth == 0) start = at + 1;
  }
  return name.substr(start);
}

bool of_pytorch(const std::string& header) {
  for (const char* folder : {"torch/", "ATen/", "c10/", "pybind11/", "Python.h"}) {
    if (header.starts_with(folder)) return true;
  }
  return false;
}

// Lines of a file that need PyTorch, such as "1, 3, 40 to 52".
std::string lines_with_pytorch(const std::filesystem::path& file) {
  constexpr std::array kMarks{"torch/", "ATen/", "c10/",   "pybind11/",       "Python.h", "torch::",
                              "at::",   "c10::", "TORCH_", "PYBIND11_MODULE", "m.def"};
  std::istringstream lines(text_of(file));
  std::vector<std::pair<int, int>> runs;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    bool marked = false;
    for (const char* mark : kMarks) marked = marked || line.find(mark) != std::string::npos;
    if (!marked) continue;
    if (!runs.empty() && runs.back().second + 1 == number)
      ++runs.back().second;
    else
      runs.emplace_back(number, number);
  }
  std::string text;
  for (const auto& [first, last] : runs) {
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
  }
  return text;
}

Remedy without_pytorch(const std::string& header, const std::string& file,
                       const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / file;  // operator/ keeps an absolute `file`
  const std::string stem = path.stem().string();
  const std::string lines = lines_with_pytorch(path);
  return {
      fmt::format("{} includes {}, but dent builds kernels without PyTorch", path.filename().string(),
                  header),
      fmt::format(
          "remove PyTorch's parts ({}and the functions that contain them) and use the __global__ function as "
          "entry; or leave {} as it is and write {}_torch.py with \"from torch.utils.cpp_extension "
          "import load\" and \"{} = load('{}', ['{}']).NAME\", and in dent.toml, in the place of "
          "sources and entry, python = \"{}_torch:{}\"",
          lines.empty() ? "" : "lines " + lines + " ", path.filename().string(), stem, stem, stem,
          path.filename().string(), stem, stem)};
}

Remedy missing_header(const std::string& line, const std::string& header,
                      const std::filesystem::path& folder) {
  const std::string file = line.substr(0, line.find(':'));
  if (of_pytorch(header)) return without_pytorch(header, file, folder);
  return {line,
          fmt::format("add the folder that has {} to [kernel] in dent.toml: include = [\"FOLDER\"]", header)};
}

// The manifest entry for a library that is known to define the symbol.
std::string known_home(const std::string& name) {
  struct Home {
    const char* prefix;
    const char* remedy;
  };
  constexpr std::array kHomes{
      Home{"omp_", "flags = [\"-fopenmp\"]"},      Home{"GOMP_", "flags = [\"-fopenmp\"]"},
      Home{"cublasLt", "link = [\"-lcublasLt\"]"}, Home{"cublas", "link = [\"-lcublas\"]"},
      Home{"cudnn", "link = [\"-lcudnn\"]"},       Home{"curand", "link = [\"-lcurand\"]"},
      Home{"cblas_", "link = [\"-lopenblas\"]"},   Home{"cu", "link = [\"-lcuda\"]"}};
  for (const Home& home : kHomes) {
    if (name.starts_with(home.prefix)) return home.remedy;
  }
  return {};
}

Remedy undefined(const std::string& symbol, const Kernel* kernel) {
  const std::string name = plain_name(symbol);
  if (kernel != nullptr && is_declaration(kernel->entry) && parse_declaration(kernel->entry).name == name) {
    return {
        fmt::format("no source defines {} with the types of the entry", name),
        "copy the first line of its definition into entry, with all types unchanged; for a C function put "
        "extern \"C\" in front; if it is in another file, add that file to sources"};
  }
  const std::string home = known_home(name);
  return {fmt::format("{} is used but not defined", name),
          home.empty()
              ? fmt::format("add the file that defines {} to sources in dent.toml, or its library: link = "
                            "[\"-lNAME\"]",
                            name)
              : "add to [kernel] in dent.toml: " + home};
}

// An error in the generated entry: the manifest's declaration is wrong.
Remedy wrong_entry(const std::string& line) {
  const auto error = line.find("error");
  const auto words = line.find(": ", error);
  return {
      "the entry does not match the function: " +
          (words == std::string::npos ? line : line.substr(words + 2)),
      "copy the first line of the function's definition into entry; where its types come from a header, name "
      "that header in sources"};
}

Remedy missing_library(std::string library) {
  library = library.substr(0, library.find(": "));
  return {fmt::format("the library {} is to be linked but does not exist", library),
          "build or install it, or correct link in dent.toml"};
}

std::optional<Remedy> read_line(const std::string& line, const std::filesystem::path& folder) {
  if (const auto header = between(line, "fatal error: ", ": No such file"))
    return missing_header(line, *header, folder);
  if (const auto header = between(line, "could not open source file \"", "\""))
    return missing_header(line, *header, folder);
  if (const auto option = between(line, "Unknown option '", "'")) {
    return Remedy{
        fmt::format("nvcc does not know the option {}", *option),
        fmt::format("if the option is for the host compiler, write \"-Xcompiler={}\" in flags", *option)};
  }
  if (const auto symbol = between(line, "undefined reference to `", "'")) return undefined(*symbol, nullptr);
  constexpr std::string_view kNoLibrary = "ld: cannot find ";
  if (const auto at = line.find(kNoLibrary); at != std::string::npos)
    return missing_library(line.substr(at + kNoLibrary.size()));
  for (const char* mark : {"error", "fatal"}) {
    if (line.find(mark) == std::string::npos) continue;
    return line.find("dent_entry.") != std::string::npos ? wrong_entry(line) : Remedy{line};
  }
  return std::nullopt;
}

}  // namespace

Remedy read_compiler_output(const std::string& output, const std::string& otherwise,
                            const std::filesystem::path& folder) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (auto remedy = read_line(line, folder)) return *std::move(remedy);
  }
  return {otherwise};
}

Remedy read_load_failure(const std::string& message, const Kernel& kernel) {
  if (const auto at = message.find("undefined symbol: "); at != std::string::npos) {
    std::string symbol = message.substr(at + std::string_view("undefined symbol: ").size());
    symbol = symbol.substr(0, symbol.find_first_of(" ,\n("));
    return undefined(symbol, &kernel);
  }
  if (message.find("the library has no function") != std::string::npos) {
    return {
        message,
        fmt::format("give the function's declaration as entry, for example entry = \"void {}(const float* x, "
                    "float* y, int n)\"; or write it as dent/kernel.h has it, extern \"C\"",
                    kernel.entry)};
  }
  if (const auto missing = between(message, "can't load the kernel: ", ": cannot open shared object file")) {
    return {fmt::format("{} can't be found when the kernel is loaded", *missing),
            "add its folder to LD_LIBRARY_PATH, or name the file in link"};
  }
  return {message, "check the library's dependencies with ldd and nm -D"};
}

}  // namespace dent
