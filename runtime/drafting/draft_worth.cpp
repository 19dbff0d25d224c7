#include "runtime/drafting/draft_worth.hpp"

namespace troupe {
namespace {

constexpr double margin = 1.05;

}  // namespace

void draft_worth::target_step(std::int32_t rows, std::chrono::nanoseconds took) {
  target_.measured(rows, static_cast<double>(took.count()));
}

void draft_worth::draft_step(std::int32_t rows, std::chrono::nanoseconds took) {
  draft_.measured(rows, static_cast<double>(took.count()));
}

std::optional<double> draft_worth::least(std::int32_t requests, std::int32_t active,
                                         std::int32_t drafted) const {
  const auto plain = target_.cost(requests);
  const auto before = target_.cost(requests + drafted);
  const auto after = target_.cost(requests + drafted + active);
  if (!plain || !before || !after) return std::nullopt;
  const auto drafting = draft_.cost(active);
  if (!drafting) return 0.0;
  const double token = (*drafting + *after - *before) / static_cast<double>(active);
  return margin * token * static_cast<double>(requests) / *plain;
}

}  // namespace troupe
