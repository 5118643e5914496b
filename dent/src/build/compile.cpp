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
#include "build/remedy.h"
#include "build/surroundings.h"
#include "build/toolchain.h"
#include "project/manifest.h"
#include "records/json.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// Input files that a compiler's .d file lists.
std::vector<std::string> dependencies_in(const fs::path& file) {
  std::istringstream words(text_of(file));
  std::vector<std::string> files;
  for (std::string word; words >> word;) {
    if (word == "\\" || word.back() == ':') continue;
    files.push_back(word);
  }
  return files;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// Replaces folders by their numbers, so that a copy of the project elsewhere has the same hash.
std::string anywhere(std::string text, const std::vector<std::string>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) replace_all(text, places[i] + "/", fmt::format("<{}>/", i));
  return text;
}

std::string hash_of(const std::vector<std::string>& files, const std::string& commands,
                    const std::vector<std::string>& places) {
  std::string all = anywhere(commands, places);
  for (const std::string& file : files) {
    const bool ours = file.starts_with(places.front() + "/");  // a file of the kernel may contain paths
    all += "\n" + anywhere(file, places) + " " +
           (ours ? sha256(anywhere(text_of(file), places)) : sha256_of_file(file));
  }
  return sha256(all);
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

bool names_architecture(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.rfind("-arch", 0) == 0 || flag.rfind("-gencode", 0) == 0 ||
           flag.rfind("--gpu-architecture", 0) == 0;
  });
}

// Record of the last build in a folder of .dent/build.
struct Memory {
  std::string recipe;
  std::vector<std::string> inputs;
  std::string source_hash, binary_hash, log;
};
constexpr const char* kMemory = "build.json";
constexpr std::int64_t kRoomBytes = std::int64_t{4} << 30;  // of one output file

void fields(Fields& f, Memory& memory) {
  f("recipe", memory.recipe, "the commands");
  f("inputs", memory.inputs, "all input files");
  f("source_hash", memory.source_hash, "hash of the input files and the commands");
  f("binary_hash", memory.binary_hash, "hash of the library");
  f("log", memory.log, "the compiler's output");
}

std::optional<Memory> remembered(const fs::path& folder) {
  try {
    return from_json_text<Memory>(text_of(folder / kMemory));
  } catch (const Error&) {  // no build there, or an unfinished one
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
    built_.places = {folder_.string(), home_.string(), project.directory.string()};
    built_.entry = is_declaration(kernel.entry) ? kGlueEntry : kernel.entry;
    built_.setup = is_declaration(kernel.setup) ? kGlueSetup : kernel.setup;
  }

  Built run() {
    kernel_.library.empty() ? compile_sources() : run_command();
    if (!built_.ok) return built_;
    built_.binary_hash = sha256_of_file(built_.library);
    remember();
    return built_;
  }

 private:
  bool cuda() const { return kernel_.device == DeviceKind::cuda; }

  void compile_sources() {
    std::vector<std::string> sources;
    for (const std::string& source : kernel_.sources) sources.push_back((home_ / source).lexically_normal());
    for (const std::string& source : sources) {
      if (!fs::exists(source))
        return fail(fmt::format("source {} does not exist", source), "correct sources in dent.toml");
    }
    if (!is_declaration(kernel_.entry)) {
      for (const std::string& source : sources) {
        if (!is_header(source)) continue;
        return fail(
            fmt::format("{} is a header, and the entry \"{}\" is no declaration", source, kernel_.entry),
            "give the declaration of its function as entry: entry = \"void name(const float* x, ...)\"");
      }
      return compile(sources, {}, "");
    }
    GlueRequest request{
        .function = parse_declaration(kernel_.entry), .cuda = cuda(), .launch = kernel_.launch};
    if (!kernel_.setup.empty()) request.setup = parse_declaration(kernel_.setup);
    const std::string name = request.function.last_name();
    if (!request.function.is_kernel() &&
        any_of(sources, [&](const std::string& text) { return is_kernel_in(text, name); })) {
      return fail(fmt::format("the entry {} is a __global__ function", name),
                  "begin its declaration in dent.toml with __global__, and say in [kernel.launch] how it is "
                  "launched");
    }
    // Sources that can't be linked are compiled together with the entry.
    std::vector<std::string> others;
    for (const std::string& source : sources) {
      const std::string text = text_of(source);
      const bool together = is_header(source) || defines(text, request.function) ||
                            (request.setup && defines(text, *request.setup));
      (together ? request.includes : others).push_back(source);
      request.included = request.included || (together && mentions(text, name));
      request.setup_included =
          request.setup_included || (together && request.setup && mentions(text, request.setup->last_name()));
    }
    request.c_linkage = std::all_of(sources.begin(), sources.end(), is_c);
    others.push_back(write_glue(request));
    compile(others, request.includes, "");
  }

  static bool defines(const std::string& source, const Declaration& function) {
    return function.needs_definition() ? mentions(source, function.last_name())
                                       : is_static_in(source, function.last_name());
  }

  std::string write_glue(GlueRequest request) {
    for (const auto& [macro, value] : kernel_.defines) request.macros.push_back(macro);
    const fs::path glue = folder_ / (cuda() ? "dent_entry.cu" : "dent_entry.cpp");
    const std::string text = glue_source(request, project_.op, project_.shapes.front());
    if (text_of(glue) != text) std::ofstream(glue) << text;
    return glue;
  }

  static bool is_header(const std::string& source) {
    const fs::path kind = fs::path(source).extension();
    return kind == ".cuh" || kind == ".h" || kind == ".hpp";
  }
  static bool is_c(const std::string& source) { return fs::path(source).extension() == ".c"; }

  template <class Test>
  static bool any_of(const std::vector<std::string>& sources, const Test& test) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const std::string& source) { return test(text_of(source)); });
  }

  // `more`: other files that the result depends on. `history`: earlier commands, for the recipe.
  void compile(const std::vector<std::string>& sources, const std::vector<std::string>& more,
               const std::string& history) {
    const Toolchain tools = toolchain(cuda(), names_architecture(kernel_.flags));
    const std::vector<std::string> flags = cuda() ? for_nvcc(kernel_.flags) : kernel_.flags;
    std::vector<std::vector<std::string>> commands;
    std::vector<std::string> objects;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const fs::path object = folder_ / fmt::format("{}-{}.o", i, fs::path(sources[i]).stem().string());
      std::vector<std::string> command = is_c(sources[i]) ? tools.compile_c : tools.compile;
      command.push_back("-I" + options_.include.string());
      for (const std::string& folder : kernel_.include) {
        command.push_back("-I" + found(folder).string());
      }
      append(command, is_c(sources[i]) ? kernel_.flags : flags);
      for (const auto& [macro, value] : kernel_.defines) command.push_back("-D" + macro + "=" + value);
      append(command, options_.extra_flags);
      append(command, {"-MMD", "-MF", object.string() + ".d", "-c", sources[i], "-o", object.string()});
      commands.push_back(std::move(command));
      objects.push_back(object);
    }
    std::vector<std::string> link = tools.link;
    append(link, objects);
    for (const std::string& flag : flags) {
      if (!only_compiles(flag)) link.push_back(flag);  // linking needs it too: -fopenmp names a library
    }
    for (const std::string& item : kernel_.link) append(link, link_arguments(item));
    append(link, options_.extra_flags);
    append(link, {"-o", built_.library.string()});
    commands.push_back(std::move(link));

    std::string recipe = history + tools.version;
    for (const auto& command : commands) recipe += "\n" + joined(command);
    if (!options_.clean && up_to_date(recipe)) return;
    std::vector<std::string> inputs(sources);
    append(inputs, more);
    for (const auto& command : commands) {
      if (!execute(command, tools.environment)) return;
    }
    for (const std::string& object : objects) append(inputs, dependencies_in(object + ".d"));
    finish(std::move(inputs), recipe);
  }

  // nvcc passes options to the host compiler after -Xcompiler.
  static std::vector<std::string> for_nvcc(std::vector<std::string> flags) {
    for (std::string& flag : flags) {
      if (flag == "-fopenmp" || flag == "-pthread") flag = "-Xcompiler=" + flag;
    }
    return flags;
  }

  static bool only_compiles(const std::string& flag) {
    return flag == "-c" || flag == "-dc" || flag.starts_with("-x");
  }

  void run_command() {
    std::string recipe = kernel_.build;
    for (const auto& [variable, value] : kernel_.defines) recipe += "\n" + variable + "=" + value;
    if (!kernel_.build.empty() && !execute({"/bin/sh", "-c", kernel_.build}, kernel_.defines)) return;
    const fs::path made = found(kernel_.library);
    if (!fs::exists(made)) {
      return kernel_.build.empty()
                 ? fail(fmt::format("the library {} does not exist", made.string()),
                        "correct library in dent.toml, or add the command that builds it: build = \"make\"")
                 : fail(fmt::format("the build command did not create {}", made.string()),
                        fmt::format("correct library in dent.toml, or the build command: {}", kernel_.build));
    }
    if (is_declaration(kernel_.entry)) return wrap(made, recipe);
    // Measures a copy, so that later builds can't change it.
    copy_to(built_.library, made);
    std::vector<std::string> inputs{made};
    for (const std::string& source : kernel_.sources) inputs.push_back((home_ / source).lexically_normal());
    finish(std::move(inputs), recipe);
  }

  static void copy_to(const fs::path& to, const fs::path& from) {
    if (sha256_of_file(from) == sha256_of_file(to)) return;
    const fs::path fresh = to.string() + ".new";
    fs::copy_file(from, fresh, fs::copy_options::overwrite_existing);
    fs::rename(fresh, to);
  }

  // Wraps a C function of a library that was built elsewhere.
  void wrap(const fs::path& made, const std::string& recipe) {
    const fs::path copy = folder_ / "library.so";
    copy_to(copy, made);
    GlueRequest request{.function = parse_declaration(kernel_.entry),
                        .cuda = cuda(),
                        .c_linkage = true,
                        .library = copy.string()};
    if (!callable_in(copy, made, request.function)) return;
    if (!kernel_.setup.empty()) {
      request.setup = parse_declaration(kernel_.setup);
      if (!callable_in(copy, made, *request.setup)) return;
    }
    std::vector<std::string> inputs{made, copy};
    for (const std::string& source : kernel_.sources) inputs.push_back((home_ / source).lexically_normal());
    compile({write_glue(std::move(request))}, inputs, recipe);
  }

  // Whether the library has that function; calls fail() if not.
  bool callable_in(const fs::path& copy, const fs::path& made, const Declaration& function) {
    if (function.is_kernel() || function.needs_definition()) {
      fail(fmt::format("{} can't be called in a library: it is a __global__ function or a template",
                       function.name),
           "give a C function of the library that calls it, or the kernel's sources");
      return false;
    }
    // Names in a symbol table are separated by zero bytes.
    if (text_of(copy).find(std::string(1, '\0') + function.name + '\0') != std::string::npos) return true;
    fail(fmt::format("{} has no C function {}", made.filename().string(), function.name),
         fmt::format(
             "put extern \"C\" in front of its definition and build the library again; what it has: nm -D {}",
             made.string()));
    return false;
  }

  // A kernel with its own folder may still need files of the project's folder, such as a library that git
  // ignores.
  fs::path found(const std::string& path) const {
    const fs::path here = (home_ / path).lexically_normal();
    return fs::exists(here) ? here : (project_.directory / path).lexically_normal();
  }

  std::vector<std::string> link_arguments(const std::string& item) const {
    if (item.rfind('-', 0) == 0) return {item};
    const fs::path file = found(item);
    if (file.extension() != ".so") return {file};
    // The rpath lets the loader find it again. nvcc does not accept -Wl.
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
    Command step{.argv = command, .environment = environment, .directory = home_, .log = log};
    options_.cell.enclose(step, view());
    const Finished finished = dent::run(step, left);
    built_.seconds += finished.seconds;
    add_waited_for_user(finished.seconds);
    built_.log += "$ " + joined(command) + "\n" + finished.output;
    built_.how = finished.ending.kind;
    if (!finished.ending.clean()) {
      Remedy remedy =
          read_compiler_output(finished.output, command.front() + " " + describe(finished.ending), home_);
      fail(std::move(remedy.problem), std::move(remedy.next));
    }
    return finished.ending.clean();
  }

  // Inputs are read-only. A build command of the manifest may write next to its sources.
  CellView view() const {
    CellView view = surroundings_of(project_, kernel_);
    view.add(compilers_view());
    view.visible.push_back(options_.include);
    view.writable.push_back(folder_);
    if (!kernel_.build.empty()) {
      view.writable.push_back(home_);
      view.visible.push_back(home_ / kManifestName);
    }
    view.room_bytes = kRoomBytes;
    return view;
  }

  bool up_to_date(const std::string& recipe) {
    const auto known = remembered(folder_);
    if (!known || known->recipe != recipe) return false;
    if (hash_of(known->inputs, recipe, built_.places) != known->source_hash) return false;
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
    built_.source_hash = hash_of(built_.inputs, recipe, built_.places);
    built_.ok = true;
  }

  void remember() const {
    std::ofstream(folder_ / kMemory) << to_json_text(
        Memory{recipe_, built_.inputs, built_.source_hash, built_.binary_hash, built_.log});
  }

  static void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }
  // Uses relative file names as in the manifest, since the kernel's folder may be temporary.
  void fail(std::string problem, std::string next) {
    replace_all(problem, home_.string() + "/", "");
    built_.problem = std::move(problem);
    built_.next = std::move(next);
  }

  const Project& project_;
  const Kernel& kernel_;
  const BuildOptions& options_;
  fs::path home_;  // the kernel's folder
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
    return built.library.string() + " was replaced since it was built";
  const auto known = remembered(built.library.parent_path());
  if (!known || known->source_hash != built.source_hash) return "something else was built meanwhile";
  if (hash_of(built.inputs, known->recipe, built.places) == built.source_hash) return {};
  return "the sources have changed since they were built";
}

}  // namespace dent
