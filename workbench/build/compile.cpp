// SPDX-License-Identifier: MIT
#include "build/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "build/glue.h"
#include "build/toolchain.h"
#include "records/json.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// The files that a compiler's .d file names.
std::vector<std::string> dependencies_in(const fs::path& file) {
  std::istringstream words(text_of(file));
  std::vector<std::string> files;
  for (std::string word; words >> word;) {
    if (word == "\\" || word.back() == ':') continue;
    files.push_back(word);
  }
  return files;
}

std::string hash_of(const std::vector<std::string>& files, const std::string& commands) {
  std::string all = commands;
  for (const std::string& file : files) all += "\n" + file + " " + sha256_of_file(file);
  return sha256(all);
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

bool names_architecture(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.rfind("-arch", 0) == 0 || flag.rfind("-gencode", 0) == 0 ||
           flag.rfind("--gpu-architecture", 0) == 0;
  });
}

// What a folder of .dent/build remembers of the last build in it.
struct Memory {
  std::string recipe;
  std::vector<std::string> inputs;
  std::string source_hash, binary_hash, log;
};
constexpr const char* kMemory = "build.json";

void fields(Fields& f, Memory& memory) {
  f("recipe", memory.recipe, "the commands");
  f("inputs", memory.inputs, "every file that went in");
  f("source_hash", memory.source_hash, "of both");
  f("binary_hash", memory.binary_hash, "of the library");
  f("log", memory.log, "what the compiler said");
}

std::optional<Memory> remembered(const fs::path& folder) {
  try {
    return from_json_text<Memory>(text_of(folder / kMemory));
  } catch (const Error&) {  // nothing was built there, or not to its end
    return std::nullopt;
  }
}

class Build {
 public:
  Build(const Project& project, const Kernel& kernel, const BuildOptions& options)
      : project_(project),
        kernel_(kernel),
        options_(options),
        home_(kernel.directory.empty() ? project.directory : kernel.directory),
        folder_(options.folder / kernel.name) {
    fs::create_directories(folder_);
    built_.library = folder_ / "kernel.so";
    built_.entry = is_declaration(kernel.entry) ? kGlueEntry : kernel.entry;
  }

  Built run() {
    kernel_.library.empty() ? compile_sources() : run_command();
    if (!built_.ok) return built_;
    built_.binary_hash = sha256_of_file(built_.library);
    remember();
    return built_;
  }

 private:
  void compile_sources() {
    const bool cuda = kernel_.device == DeviceKind::cuda;
    std::vector<std::string> sources;
    for (const std::string& source : kernel_.sources) sources.push_back((home_ / source).lexically_normal());
    if (is_declaration(kernel_.entry)) {
      const fs::path glue = folder_ / (cuda ? "dent_entry.cu" : "dent_entry.cpp");
      const std::string text =
          glue_source(kernel_.entry, project_.op, project_.shapes.front(), cuda, kernel_.launch);
      if (calls_a_kernel_as_a_function(sources)) {
        return fail(
            "the entry is a __global__ function: begin its declaration in dent.toml with __global__, and "
            "say in [kernel.launch] how it is launched");
      }
      if (text_of(glue) != text) std::ofstream(glue) << text;
      sources.push_back(glue);
    }
    for (const std::string& source : sources) {
      if (!fs::exists(source)) return fail(fmt::format("source {} is not there", source));
    }
    const Toolchain tools = toolchain(cuda, names_architecture(kernel_.flags));
    std::vector<std::vector<std::string>> commands;
    std::vector<std::string> objects;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const fs::path object = folder_ / fmt::format("{}-{}.o", i, fs::path(sources[i]).stem().string());
      std::vector<std::string> command = tools.compile;
      command.push_back("-I" + options_.include.string());
      for (const std::string& folder : kernel_.include) {
        command.push_back("-I" + found(folder).string());
      }
      append(command, kernel_.flags);
      for (const auto& [macro, value] : kernel_.defines) command.push_back("-D" + macro + "=" + value);
      append(command, options_.extra_flags);
      append(command, {"-MMD", "-MF", object.string() + ".d", "-c", sources[i], "-o", object.string()});
      commands.push_back(std::move(command));
      objects.push_back(object);
    }
    std::vector<std::string> link = tools.link;
    append(link, objects);
    for (const std::string& item : kernel_.link) append(link, link_arguments(item));
    append(link, options_.extra_flags);
    append(link, {"-o", built_.library.string()});
    commands.push_back(std::move(link));

    std::string recipe = tools.version;
    for (const auto& command : commands) recipe += "\n" + joined(command);
    if (!options_.clean && up_to_date(recipe)) return;
    std::vector<std::string> inputs(sources);
    for (const auto& command : commands) {
      if (!execute(command, tools.environment)) return;
    }
    for (const std::string& object : objects) append(inputs, dependencies_in(object + ".d"));
    finish(std::move(inputs), recipe);
  }

  bool calls_a_kernel_as_a_function(const std::vector<std::string>& sources) const {
    return kernel_.entry.find("__global__") == std::string::npos &&
           std::any_of(sources.begin(), sources.end(), [this](const std::string& source) {
             return is_kernel_in(text_of(source), kernel_.entry);
           });
  }

  void run_command() {
    std::string recipe = kernel_.build;
    for (const auto& [variable, value] : kernel_.defines) recipe += "\n" + variable + "=" + value;
    if (!kernel_.build.empty() && !execute({"/bin/sh", "-c", kernel_.build}, kernel_.defines)) return;
    const fs::path made = found(kernel_.library);
    if (!fs::exists(made)) return fail(fmt::format("the build made no {}", made.string()));
    // What is measured is a copy that no later build can change under us.
    if (sha256_of_file(made) != sha256_of_file(built_.library)) {
      const fs::path copy = folder_ / "kernel.so.new";
      fs::copy_file(made, copy, fs::copy_options::overwrite_existing);
      fs::rename(copy, built_.library);
    }
    std::vector<std::string> inputs{made};
    for (const std::string& source : kernel_.sources) inputs.push_back((home_ / source).lexically_normal());
    finish(std::move(inputs), recipe);
  }

  // A kernel with a folder of its own may still need what only the project's has: a library that git ignores.
  fs::path found(const std::string& path) const {
    const fs::path here = (home_ / path).lexically_normal();
    return fs::exists(here) ? here : (project_.directory / path).lexically_normal();
  }

  std::vector<std::string> link_arguments(const std::string& item) const {
    if (item.rfind('-', 0) == 0) return {item};
    const fs::path file = found(item);
    if (file.extension() != ".so") return {file};
    // Found again when it is loaded. nvcc does not take -Wl.
    const std::string folder = file.parent_path().string();
    if (kernel_.device == DeviceKind::cuda) return {file, "-Xlinker", "-rpath=" + folder};
    return {file, "-Wl,-rpath," + folder};
  }

  bool execute(const std::vector<std::string>& command,
               const std::vector<std::pair<std::string, std::string>>& environment) {
    const fs::path log = folder_ / "build.log";
    std::error_code ignored;
    fs::remove(log, ignored);
    const double left = project_.limits.build_seconds - built_.seconds;
    const Finished finished =
        dent::run({.argv = command, .environment = environment, .directory = home_, .log = log}, left);
    built_.seconds += finished.seconds;
    add_waited_for_user(finished.seconds);
    built_.log += "$ " + joined(command) + "\n" + finished.output;
    built_.how = finished.ending.kind;
    if (!finished.ending.clean()) fail(first_error(finished, command.front()));
    return finished.ending.clean();
  }

  static std::string first_error(const Finished& finished, const std::string& program) {
    std::istringstream lines(finished.output);
    for (std::string line; std::getline(lines, line);) {
      for (const char* mark : {"error", "undefined reference", "fatal"}) {
        if (line.find(mark) != std::string::npos) return line;
      }
    }
    return program + " " + describe(finished.ending);
  }

  bool up_to_date(const std::string& recipe) {
    const auto known = remembered(folder_);
    if (!known || known->recipe != recipe) return false;
    if (hash_of(known->inputs, recipe) != known->source_hash) return false;
    if (sha256_of_file(built_.library) != known->binary_hash) return false;
    built_.log = known->log;
    built_.reused = true;
    finish(known->inputs, recipe);
    return true;
  }

  void finish(std::vector<std::string> inputs, const std::string& recipe) {
    const std::set<std::string> once(inputs.begin(), inputs.end());
    built_.inputs.assign(once.begin(), once.end());
    recipe_ = recipe;
    built_.source_hash = hash_of(built_.inputs, recipe);
    built_.ok = true;
  }

  void remember() const {
    std::ofstream(folder_ / kMemory) << to_json_text(
        Memory{recipe_, built_.inputs, built_.source_hash, built_.binary_hash, built_.log});
  }

  static void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }
  void fail(const std::string& problem) { built_.problem = problem; }

  const Project& project_;
  const Kernel& kernel_;
  const BuildOptions& options_;
  fs::path home_;  // of the kernel
  fs::path folder_;
  std::string recipe_;
  Built built_;
};

}  // namespace

Built build_kernel(const Project& project, const Kernel& kernel, const BuildOptions& options) {
  return Build(project, kernel, options).run();
}

std::string staleness(const Built& built) {
  if (sha256_of_file(built.library) != built.binary_hash)
    return built.library.string() + " is not the one that was built";
  const auto known = remembered(built.library.parent_path());
  if (!known || known->source_hash != built.source_hash) return "something else was built meanwhile";
  if (hash_of(built.inputs, known->recipe) == built.source_hash) return {};
  return "the sources have changed since they were built";
}

}  // namespace dent
