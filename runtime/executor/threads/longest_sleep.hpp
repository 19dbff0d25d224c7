// How long anybody sleeps at most who takes part in a step.
#pragma once
#include <chrono>

namespace troupe {

// The threads of a team, and both ends of a runner process's channel, look again by themselves after having
// slept so long. A wake-up that gets lost, wherever that be, then costs a pause and not the step. An idle
// service wakes ten times a second for it in each of the team's threads and in the runner process's main one.
inline constexpr std::chrono::milliseconds longest_sleep{100};

}  // namespace troupe
