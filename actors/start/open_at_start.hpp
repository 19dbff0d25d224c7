// The first opening of a device, tried again where its process ends meanwhile: a kill then is to cost no more
// than later, when the supervisor has another one opened.
#pragma once
#include <functional>

#include "actors/start/loaded_engine.hpp"
#include "actors/start/opening_guard.hpp"
#include "runtime/isolation/executor_place.hpp"
#include "runtime/result.hpp"
#include "runtime/supervision/restart_backoff.hpp"

namespace troupe {

// Calls `open`, which begins a process of `place`, until it gives an engine, or fails while that process
// lives. Errors: those of `open`; internal where more processes end than the company's intensity allows to
// start again: all in a row count, however long they have taken; or where `guard` kills the second, since it
// hangs. The thread sleeps through the pauses, some 4 s in all with the usual ones. Throws device_lost, as
// `open` does, where the process lives.
result<loaded_engine> open_at_start(const executor_place& place, const restart_pauses& pauses,
                                    const opening_guard& guard,
                                    const std::function<result<loaded_engine>()>& open);

}  // namespace troupe
