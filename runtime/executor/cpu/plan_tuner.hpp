// Chooses the plan that runs a step of some number of rows soonest: the candidates take turns, the least
// median wins. Time is handed in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/executor/cpu/step_plan.hpp"

namespace troupe {

class plan_tuner {
 public:
  // The first candidate is the one that runs unasked; none: nothing to choose.
  explicit plan_tuner(std::vector<step_plan> candidates);

  bool finished() const { return round_ >= rounds || plans_.size() < 2; }
  // The plan whose turn it is; nullptr where finished.
  const step_plan* next() const { return finished() ? nullptr : &plans_[turn_].plan; }
  // How long a step by next() took.
  void took(std::int64_t nanoseconds);

  // The least median; the first candidate where no other is at least 3 % sooner: less is noise.
  const step_plan& best() const { return plans_[best_index()].plan; }
  // How many times sooner than the first candidate the best is; 1 where it is the first.
  double gain() const;

 private:
  // The first round only warms the caches.
  static constexpr std::int32_t rounds = 8;
  struct candidate {
    step_plan plan;
    std::vector<std::int64_t> times;
  };
  std::size_t best_index() const;
  // The next whose turn is worth a step.
  void go_on();

  std::vector<candidate> plans_;
  std::int32_t round_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace troupe
