// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/options.h"

namespace dent::cli {

// dent resume of a session of dent optimize.
ExitCode resume_loop(const std::string& session, const Common& common);

}  // namespace dent::cli
