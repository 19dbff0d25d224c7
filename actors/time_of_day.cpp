#include "actors/time_of_day.hpp"

#include <chrono>

namespace troupe {

std::int64_t time_of_day() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::optional<std::tm> local_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  if (localtime_r(&time, &local) == nullptr) return std::nullopt;
  return local;
}

}  // namespace troupe
