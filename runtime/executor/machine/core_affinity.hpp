// On which cores a thread may run.
#pragma once
#include <cstdint>
#include <vector>

namespace troupe {

// The cores that the calling thread may run on, ascending; empty where the system does not say.
std::vector<std::int32_t> allowed_cores();

// Keeps the calling thread on one core, for good.
void stay_on(std::int32_t core);

// Keeps the calling thread on one core for the life of this object, where it may run on all of `all`
// (allowed_cores()) and nowhere else: a thread that somebody has placed elsewhere stays where it is.
class core_stay {
 public:
  core_stay(std::int32_t core, const std::vector<std::int32_t>& all);
  ~core_stay();
  core_stay(const core_stay&) = delete;
  core_stay& operator=(const core_stay&) = delete;

 private:
  const std::vector<std::int32_t>& all_;
  bool stays_ = false;
};

}  // namespace troupe
