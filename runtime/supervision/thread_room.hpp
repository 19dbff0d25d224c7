// Whether the system would start more threads, asked before somebody needs them: what a thread that cannot be
// started leaves half done cannot be told from here (CAF counts an actor whose thread has never been).
#pragma once
#include "runtime/result.hpp"

namespace troupe {

// Starts `count` threads at once and ends them. Errors: resource_exhausted, with how many were started and
// the limits that may be in the way. What others start meanwhile is not known.
result<void> room_for_threads(int count);

}  // namespace troupe
