// SPDX-License-Identifier: MIT
// A process that briefly outlives this one and kills the process groups that it has left.
//
// Needed because PR_SET_PDEATHSIG takes effect only after the child has requested it. Bubblewrap's inner
// process first waits for a message from the outer one; if the outer one is killed earlier, the inner one
// would wait for ever.
#pragma once

#include <sys/types.h>

namespace dent {

// Descriptor of this process's keeper, which is started by the first call; -1 if it can't be started. exec
// closes it; until then a child of fork may write to it.
int keeper();

// Registers a group to be killed when this process ends, until drop_group(). Safe between fork and exec.
bool keep_group(int keeper, pid_t group);
void drop_group(int keeper, pid_t group);

}  // namespace dent
