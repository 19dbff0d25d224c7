#include "actors/start/open_at_start.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "runtime/isolation/executor_host.hpp"
#include "runtime/supervision/supervision_tree.hpp"

namespace troupe {
namespace {

// One whose device was refused is ended with it, which is no loss.
bool has_lost_process(const executor_place& place, const opening_guard& guard) {
  const auto process = place.process();
  return process && (process->has_ended_by_itself() || guard.has_killed(*process));
}

// Where the process has ended, whatever its end made of a call is an error.
result<loaded_engine> try_to_open(const executor_place& place, const opening_guard& guard,
                                  const std::function<result<loaded_engine>()>& open) try {
  return open();
} catch (const device_lost& fault) {
  if (!has_lost_process(place, guard)) throw;
  return fail(error_code::unavailable, fault.what());
}

// Of a process that has ended by itself, and not for want of its device: as one does whose main() goes its
// own way.
const char* hint_for(process_handle& process) {
  const auto code = process.exit_code();
  return code && *code != device_lost_exit
             ? " (is it a runner? A program that embeds the company begins with run_if_runner_process())"
             : "";
}

std::string how_it_ended(process_handle& process, const opening_guard& guard) {
  if (!guard.has_killed(process)) return process.how_it_ended();
  return fmt::format("a kill, since it had got nowhere for {:.4g} s",
                     std::chrono::duration<double>(guard.patience()).count());
}

}  // namespace

result<loaded_engine> open_at_start(const executor_place& place, const restart_pauses& pauses,
                                    const opening_guard& guard,
                                    const std::function<result<loaded_engine>()>& open) {
  restart_backoff backoff(pauses);
  const std::int32_t most_restarts = restart_intensity{}.most;
  int hangs = 0;
  for (std::int32_t restarts = 0;; ++restarts) {
    result<loaded_engine> opened = try_to_open(place, guard, open);
    if (opened || !has_lost_process(place, guard)) return opened;
    const std::string how = how_it_ended(*place.process(), guard);
    if (guard.has_killed(*place.process())) ++hangs;
    if (restarts == most_restarts || hangs == most_hung_openings)
      return fail(error_code::internal,
                  fmt::format("the runner process has ended {} times in a row before its device was open, "
                              "the last time by {}{}",
                              restarts + 1, how, hint_for(*place.process())));
    const std::chrono::duration<double> pause = backoff.ended(std::chrono::steady_clock::now());
    spdlog::warn(
        "the runner process has ended before its device was open: {}; it is started again in {:.2f} s", how,
        pause.count());
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace troupe
