// SPDX-License-Identifier: MIT
// A process that outlives this one for a moment, and ends the process groups that it has left.
//
// Who asks the system to be killed with its parent has to live to ask. Bubblewrap's inner process first waits
// for word from the outer one: where that is killed before its word, the inner one would wait for ever.
#pragma once

#include <sys/types.h>

namespace dent {

// Where to tell the keeper of this process about groups, started with the first call; -1 where there can be
// none. Closed by exec; a child of fork may write to it until then.
int keeper();

// Safe between fork and exec. From now on the group is ended with us, until it is dropped.
bool keep_group(int keeper, pid_t group);
void drop_group(int keeper, pid_t group);

}  // namespace dent
