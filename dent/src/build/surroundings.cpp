// SPDX-License-Identifier: MIT
#include "build/surroundings.h"

#include <cstdlib>
#include <sstream>

#include "build/toolchain.h"
#include "project/untrusted.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSearchPaths[] = {"LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH",
                                        "CPLUS_INCLUDE_PATH"};

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

// Whether the folder is the user's home or contains it.
bool holds_home(const fs::path& folder) {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return false;
  const fs::path inside = fs::path(home).lexically_relative(folder.lexically_normal());
  return !inside.empty() && *inside.begin() != "..";
}

// Resolves a path relative to the kernel's folder or, if it does not exist there, to the project's.
fs::path found(const fs::path& home, const fs::path& project, const std::string& path) {
  std::error_code none;
  const fs::path here = (home / path).lexically_normal();
  return fs::exists(here, none) ? here : (project / path).lexically_normal();
}

// The path in "-I../common", "-L/opt/lib", "-Wl,-rpath,/opt/lib", "--compiler-bindir=/opt/gcc"; "" if there
// is none.
std::string path_in(const std::string& flag) {
  if (flag.starts_with("-I") || flag.starts_with("-L")) return flag.substr(2);
  const auto at = flag.find('/');
  if (at == std::string::npos) return {};
  return at == 0 || flag[at - 1] == '=' || flag[at - 1] == ',' ? flag.substr(at) : std::string();
}

// /opt/gcc-13/bin/g++ needs the whole folder /opt/gcc-13.
void add_program(CellView& view, const fs::path& program) {
  std::error_code none;
  for (const fs::path& path : {program, fs::canonical(program, none)}) {
    const fs::path folder = path.parent_path();
    if (folder.has_parent_path() && folder.filename() == "bin") view.visible.push_back(folder.parent_path());
  }
}

fs::path in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code none;
    if (fs::exists(fs::path(folder) / program, none)) return fs::path(folder) / program;
  }
  return {};
}

void add_tree(CellView& view, const fs::path& folder) {
  view.visible.push_back(folder);
  for (const char* inside : {".git", ".dent"}) {
    if (is_folder(folder / inside)) view.hidden.push_back(folder / inside);
  }
}

}  // namespace

fs::path repository_top(const fs::path& folder) {
  for (fs::path top = folder; top != top.parent_path(); top = top.parent_path()) {
    if (holds_home(top)) return {};
    std::error_code none;
    if (fs::exists(top / ".git", none)) return top;
  }
  return {};
}

CellView surroundings_of(const Project& project) {
  CellView view;
  view.limits = {.memory_bytes = 0, .processes = project.limits.processes, .cores = project.limits.cores};
  add_tree(view, project.directory);
  // Another author's project may lie in a repository of the user's.
  if (!reads_untrusted()) {
    if (const fs::path top = repository_top(project.directory); !top.empty()) add_tree(view, top);
  }
  for (const std::string& path : project.visible)
    view.visible.push_back((project.directory / path).lexically_normal());
  for (const char* name : kSearchPaths) {
    std::istringstream folders(std::getenv(name) != nullptr ? std::getenv(name) : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty() && !holds_home(folder)) view.visible.emplace_back(folder);
    }
  }
  return view;
}

CellView surroundings_of(const Project& project, const Kernel& kernel) {
  CellView view = surroundings_of(project);
  const fs::path home = kernel.directory.empty() ? project.directory : kernel.directory;
  if (!kernel.directory.empty()) {
    const fs::path top = repository_top(home);
    add_tree(view, top.empty() ? home : top);
  }
  const auto add = [&](const std::string& path) {
    if (!path.empty()) view.visible.push_back(found(home, project.directory, path));
  };
  const auto add_folder_of = [&](const std::string& file) {
    if (!file.empty()) view.visible.push_back(found(home, project.directory, file).parent_path());
  };
  for (const std::string& source : kernel.sources) add_folder_of(source);
  for (const std::string& folder : kernel.include) add(folder);
  for (const std::string& flag : kernel.flags) add(path_in(flag));
  for (const std::string& item : kernel.link) {
    item.starts_with('-') ? add(path_in(item)) : add_folder_of(item);
  }
  add_folder_of(kernel.library);
  return view;
}

CellView compilers_view() {
  CellView view;
  add_program(view, in_path(cxx_compiler()));
  if (const std::string nvcc = nvcc_compiler(); !nvcc.empty()) add_program(view, nvcc);
  return view;
}

}  // namespace dent
