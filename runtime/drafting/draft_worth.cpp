#include "runtime/drafting/draft_worth.hpp"

#include <algorithm>

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

// The best, since a step that was slow once must not keep prompts from being computed for ever.
void draft_worth::prompt_step(std::int32_t rows, std::chrono::nanoseconds took) {
  if (rows < 1 || took.count() <= 0) return;
  const double row = static_cast<double>(took.count()) / rows;
  prompt_row_ = std::min(prompt_row_.value_or(row), row);
}

// Before one was computed, a row of the widest step of decodes says what a row costs.
double draft_worth::prompt(std::int32_t rows, std::int32_t requests) const {
  const auto plain = target_.cost(requests);
  const auto widest = draft_.cost(draft_.most_rows());
  if (!plain || (!prompt_row_ && !widest)) return 0.0;
  const double row = prompt_row_ ? *prompt_row_ : *widest / draft_.most_rows();
  return rows * row * static_cast<double>(requests) / *plain;
}

}  // namespace troupe
