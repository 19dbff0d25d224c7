// Where child processes are started, whoever wants them: a child hears of the end of the thread that has
// started it, not of the process (PR_SET_PDEATHSIG of prctl(2)), so that thread lives as long as the process.
#pragma once
#include <functional>

namespace troupe {

// What `start` returns there.
int run_on_spawning_thread(std::function<int()> start);

}  // namespace troupe
