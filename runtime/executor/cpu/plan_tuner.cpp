#include "runtime/executor/cpu/plan_tuner.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr double worth_it = 1.03;
// A candidate so many times slower than the soonest gets no further turn, once each has had some.
constexpr double hopeless = 1.25;
constexpr std::size_t times_before_judgement = 3;

double median(std::vector<std::int64_t> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (times.size() % 2 == 1) return static_cast<double>(*middle);
  const auto below = *std::max_element(times.begin(), middle);
  return (static_cast<double>(*middle) + static_cast<double>(below)) / 2;
}

}  // namespace

plan_tuner::plan_tuner(std::vector<step_plan> candidates) {
  if (candidates.empty()) candidates.emplace_back();
  for (const step_plan& each : candidates) plans_.push_back({each, {}});
}

void plan_tuner::took(std::int64_t nanoseconds) {
  if (finished()) return;
  if (round_ > 0) plans_[turn_].times.push_back(nanoseconds);
  go_on();
}

void plan_tuner::go_on() {
  double least = 0;
  for (const candidate& each : plans_)
    if (each.times.size() >= times_before_judgement && (least == 0 || median(each.times) < least))
      least = median(each.times);
  do {
    if (++turn_ < plans_.size()) continue;
    turn_ = 0;
    ++round_;
  } while (!finished() && plans_[turn_].times.size() >= times_before_judgement &&
           median(plans_[turn_].times) > hopeless * least);
}

std::size_t plan_tuner::best_index() const {
  const double first = median(plans_.front().times);
  std::size_t best = 0;
  double least = first / worth_it;
  for (std::size_t i = 1; i < plans_.size(); ++i) {
    if (plans_[i].times.empty()) continue;
    const double each = median(plans_[i].times);
    if (each > least) continue;
    least = each;
    best = i;
  }
  return best;
}

double plan_tuner::gain() const {
  const std::size_t best = best_index();
  return best == 0 ? 1.0 : median(plans_.front().times) / std::max(median(plans_[best].times), 1.0);
}

}  // namespace troupe
