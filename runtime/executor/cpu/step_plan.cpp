#include "runtime/executor/cpu/step_plan.hpp"

#include <fmt/format.h>

namespace troupe {

std::string to_string(const step_plan& plan) {
  return fmt::format("items_per_member {}", plan.items_per_member);
}

bool is_valid(const step_plan& plan) { return plan.items_per_member >= 1 && plan.items_per_member <= 1024; }

const step_plan& step_plans::of(std::int32_t rows) const {
  if (tried_ != nullptr) return *tried_;
  const auto found = by_rows_.lower_bound(rows);
  return found != by_rows_.end() ? found->second : default_;
}

std::vector<step_plan> step_plans::candidates() { return {{4}, {1}, {2}, {8}}; }

}  // namespace troupe
