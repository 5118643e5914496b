// SPDX-License-Identifier: MIT
#include "records/job.h"

namespace dent::record {

void fields(Fields& f, Job& job) {
  f("job", job.job, "its id: a UUID");
  f("executor", job.executor, "name of the executor in dent.toml or in the user's own config");
  f("state", job.state, "what has become of it");
  f.may("word", job.word, "the system's own word for the state");
  f("exit_code", job.exit_code, "of the dent that did it, once it has ended");
  f.may("why", job.why, "more about the state, for people");
}

}  // namespace dent::record
