// SPDX-License-Identifier: MIT
#include "executors/part_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "executors/doing.h"
#include "executors/project_tree.h"
#include "ledger/project_lock.h"
#include "project/choice.h"
#include "session/event_stream.h"
#include "workers/device_id.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// Whole once it is there.
fs::path make_tree(const fs::path& root, const PartKernel& kernel, const fs::path& folder) {
  if (fs::exists(folder)) return folder;
  const fs::path prepared = fs::path(folder) += ".new";
  fs::remove_all(prepared);
  copy_plain_tree(root, prepared);
  for (const std::string& file : kernel.removed) fs::remove(prepared / file);
  if (!kernel.changes.empty()) {
    fs::copy(
        root / kChangesFolder / kernel.changes, prepared,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing | fs::copy_options::copy_symlinks);
    fs::remove(prepared / kTreeMarker);
  }
  fs::rename(prepared, folder);
  return folder;
}

// Machine and device, for people.
std::string where(const std::string& device) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return device.find(host) == std::string::npos ? fmt::format("{} {}", host, device) : device;
}

class PartTrees {
 public:
  PartTrees(const Project& project, fs::path folder) : project_(project), folder_(std::move(folder)) {
    const auto root = laid_out_root(project.directory);
    if (!root) {
      throw Error(ErrorCode::invalid,
                  "no " + std::string(kTreeMarker) + " above " + project.directory.string(),
                  "the tree of a loop's job has it at its top: bring all of its files");
    }
    root_ = *root;
  }

  Kernel kernel(const PartKernel& wanted, const char* side) const {
    const fs::path prefix = fs::canonical(project_.directory).lexically_relative(root_);
    Kernel kernel = kernel_of(project_, wanted.choice);
    kernel.directory = (make_tree(root_, wanted, folder_ / side) / prefix).lexically_normal();
    if (kernel.directory.filename().empty()) kernel.directory = kernel.directory.parent_path();
    kernel.name = wanted.name;
    return kernel;
  }

 private:
  const Project& project_;
  fs::path folder_, root_;
};

}  // namespace

Conclusion do_part(const Job& job, const Project& project, const fs::path& folder, Observer& observer) {
  const LoopPart& part = job.part.value();
  // Several of a loop's jobs may be done in one tree at a time: each has its own folder for what it builds.
  // The first one knows what the baseline took the last time.
  const bool first = part.kind == PartKind::start;
  SessionStore store(first ? project.directory : folder);
  store.prepare();
  std::optional<ProjectLock> lock;
  if (first) lock.emplace(store.folder());
  const PartTrees trees(project, folder / "trees");
  PartKernels kernels{.candidate = trees.kernel(part.candidate, "candidate")};
  if (part.opponent) kernels.opponent = trees.kernel(*part.opponent, "opponent");

  const std::string device_name = device_id(project.kernel.device);
  DoingFile doing(folder, where(device_name));
  Observers observers;
  observers.add(observer);
  observers.add(doing);

  Session session(project, store, {job.id, folder}, observers);
  KernelBuilder builder(project, store.folder(), find_resources().include);
  WorkerFactory workers(project, find_resources(), builder);
  session.share(workers.turns());
  Oracle oracle(workers, session.folder().artifacts());
  Sides against_baseline(workers, oracle, kernels.candidate, session.folder().artifacts());
  if (!part.baseline.empty()) against_baseline.keep_baseline(part.baseline);
  session.open({.command = job.command, .git = job.git}, against_baseline);
  perform(part, kernels, session, against_baseline);
  std::error_code ignored;
  fs::remove_all(folder / "trees", ignored);
  if (!first) fs::remove_all(store.folder(), ignored);
  return {.id = job.id, .verdict = Verdict::pass, .reason = part.name + " is done", .code = ExitCode::ok};
}

}  // namespace dent
