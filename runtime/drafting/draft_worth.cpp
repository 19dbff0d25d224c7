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

std::int32_t draft_worth::best_length(std::int32_t requests, std::int32_t active,
                                      const sequence_draft& of) const {
  const auto plain = target_.cost(requests);
  if (!plain) return 0;
  const double drafting = draft_.cost(active).value_or(0.0);
  double best = static_cast<double>(requests) / *plain;
  double worth = of.lead_worth;
  double right = 0.0;
  std::int32_t length = 0;
  for (std::int32_t count = 1; count <= of.most; ++count) {
    const auto step = target_.cost(requests + count * active);
    if (!step) break;
    worth *= of.rate;
    right += worth * active;
    const double rate = (requests + right / margin) / (*step + (of.lead + count) * drafting);
    if (rate <= best) continue;
    best = rate;
    length = count;
  }
  return length;
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
