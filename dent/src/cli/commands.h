// SPDX-License-Identifier: MIT
// The table of contents: one function per command, one file per function.
#pragma once

#include "cli/options.h"

namespace dent::cli {

void add_run(Command& dent);           // run, resume
void add_single_gates(Command& dent);  // preflight, build, check, bench, sanitize
void add_optimize(Command& dent);
void add_cost(Command& dent);
void add_log(Command& dent);
void add_show(Command& dent);
void add_watch(Command& dent);
void add_compare(Command& dent);
void add_ci(Command& dent);
void add_bisect(Command& dent);
void add_track(Command& dent);
void add_export(Command& dent);
void add_bundle(Command& dent);  // bundle, verify
void add_report(Command& dent);
void add_init(Command& dent);
void add_import(Command& dent);
void add_suite(Command& dent);  // suite run, suite resume, suite show
void add_devices(Command& dent);
void add_patterns(Command& dent);
void add_predict(Command& dent);
void add_completion(Command& dent);
void add_evaluate(Command& dent);
void add_mcp(Command& dent);
void add_job(Command& dent);
void add_slot(Command& dent);
void add_jobs(Command& dent);  // executors, jobs, attach, cancel

}  // namespace dent::cli
