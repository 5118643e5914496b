// SPDX-License-Identifier: MIT
// dent slot: takes jobs from a queue until there are none, inside of a job of a scheduler. For executors, not
// for people.
#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "executors/slot.h"
#include "executors/slurm_client.h"

namespace dent::cli {
namespace {

struct SlotArguments {
  std::string queue, slot;
};

// How often Slurm has started it.
int start_of_this() {
  const char* count = std::getenv("SLURM_RESTART_COUNT");
  return count == nullptr ? 0 : std::atoi(count);
}

ExitCode slot(const SlotArguments& arguments) {
  const JobQueue queue(arguments.queue);
  switch (serve_slot(queue, arguments.slot, start_of_this())) {
    case SlotEnd::idle:
    case SlotEnd::second_run:
      return ExitCode::ok;
    case SlotEnd::told_to_end:
      break;
    case SlotEnd::out_of_time: {
      // A new allocation for what is left, whether somebody looks after the queue or not.
      const auto jobs = queue.jobs();
      if (std::any_of(jobs.begin(), jobs.end(), [&](const std::string& job) { return queue.waits(job); }))
        slurm::requeue_this();
      break;
    }
  }
  return ExitCode::interrupted;
}

}  // namespace

void add_slot(Command& dent) {
  auto arguments = std::make_shared<SlotArguments>();
  Command& command = dent.command("slot", "Do the jobs of a queue, one after the other (for executors)");
  command.option("queue", arguments->queue, "The queue's folder, on a shared file system").required();
  command.option("slot", arguments->slot, "Its name in there").required();
  command.examples(
      "  dent slot ~/.cache/dent/slurm-cluster-0123456789ab 0f8fad5b-d9cb-469f-a165-70867728950e");
  command.run([arguments] { return slot(*arguments); });
}

}  // namespace dent::cli
