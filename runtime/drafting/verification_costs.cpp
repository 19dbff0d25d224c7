#include "runtime/drafting/verification_costs.hpp"

#include <algorithm>

namespace troupe {

void verification_costs::measured(const timed_step& step, double time) {
  if (step.is_usual()) return usual_.measured(step.rows, time, 1.0);
  const std::optional<double> usual = usual_.cost(step.rows);
  if (!usual) return;
  const double further = std::max(time - *usual, 0.0);
  if (step.is_random) {
    random_row_ = further / step.rows;
  } else if (step.context > timed_step::short_context) {
    (step.rows == 1 ? one_ : several_) = {step.rows, further / (step.context - timed_step::short_context)};
    update();
  }
}

void verification_costs::served(std::int32_t rows, double beside, double time) {
  constexpr double weight = 0.05;
  usual_.served(rows, time - beside, weight);
}

// Rows of one sequence may share what they read of its context; then the first is the dearest.
void verification_costs::update() {
  if (!one_ || !several_) return;
  token_first_ = one_->each_token;
  token_further_ = std::max(several_->each_token - one_->each_token, 0.0) / (several_->rows - 1);
}

double verification_costs::of_first_row(std::int32_t context, bool is_random) const {
  return token_first_ * std::max(context - timed_step::short_context, 0) + (is_random ? random_row_ : 0.0);
}

double verification_costs::of_further_row(std::int32_t context, bool is_random) const {
  return token_further_ * std::max(context - timed_step::short_context, 0) + (is_random ? random_row_ : 0.0);
}

}  // namespace troupe
