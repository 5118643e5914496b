// SPDX-License-Identifier: MIT
// The table of contents: one function per command, one file per function.
#pragma once

#include "cli/options.h"

namespace dent::cli {

void add_run(CLI::App& app, Chosen& chosen);           // run, resume
void add_single_gates(CLI::App& app, Chosen& chosen);  // preflight, build, check, bench, sanitize
void add_optimize(CLI::App& app, Chosen& chosen);
void add_cost(CLI::App& app, Chosen& chosen);
void add_log(CLI::App& app, Chosen& chosen);
void add_show(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_report(CLI::App& app, Chosen& chosen);
void add_init(CLI::App& app, Chosen& chosen);
void add_devices(CLI::App& app, Chosen& chosen);
void add_patterns(CLI::App& app, Chosen& chosen);
void add_predict(CLI::App& app, Chosen& chosen);
void add_completion(CLI::App& app, Chosen& chosen);
void add_evaluate(CLI::App& app, Chosen& chosen);
void add_mcp(CLI::App& app, Chosen& chosen);

}  // namespace dent::cli
