#include "runtime/supervision/thread_room.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <latch>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe {

result<void> room_for_threads(int count) {
  std::vector<std::thread> started;
  started.reserve(static_cast<std::size_t>(count));
  std::latch enough(1);
  std::optional<std::string> refusal;
  try {
    for (int i = 0; i < count; ++i) started.emplace_back([&enough] { enough.wait(); });
  } catch (const std::system_error& why) {
    refusal = why.code().message();
  }
  enough.count_down();
  for (std::thread& each : started) each.join();
  if (!refusal) return {};
  return fail(
      error_code::resource_exhausted,
      fmt::format("the system starts {} of the {} threads that are needed: {}. Raise what limits them: "
                  "the user's processes (ulimit -u, LimitNPROC) or the group's (pids.max, TasksMax)",
                  started.size(), count, *refusal));
}

}  // namespace troupe
