// SPDX-License-Identifier: MIT
#include "records/job.h"

namespace dent::record {

void fields(Fields& f, Job& job) {
  f("job", job.job, "its id: a UUID");
  f("executor", job.executor, "name of the executor in dent.toml or in the user's own config");
  f("state", job.state, "state of the job");
  f.may("word", job.word, "the queueing system's own name of the state");
  f("exit_code", job.exit_code, "exit code of the job's dent, once it has ended");
  f.may("why", job.why, "details of the state, for people");
}

}  // namespace dent::record
