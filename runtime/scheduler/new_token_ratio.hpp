// How much of what the running requests may still generate is kept free when another is admitted: a share
// that falls with every step and rises after a preemption. From SGLang's scheduler (new_token_ratio),
// with its constants at schedule conservativeness 1.
#pragma once
#include <algorithm>
#include <cstdint>

namespace troupe {

class new_token_ratio {
 public:
  double value() const { return value_; }
  // A step was sent off.
  void decay() { value_ = std::max(value_ - (initial - least) / decay_steps, least); }
  // Running requests were preempted for want of blocks; those left have `generated` of at most `max_tokens`
  // tokens, all together.
  void raise(std::int64_t generated, std::int64_t max_tokens, std::size_t num_running) {
    const double expected = static_cast<double>(generated) + 20.0 * static_cast<double>(num_running);
    value_ = std::min(expected / static_cast<double>(std::max<std::int64_t>(max_tokens, 1)), 1.0);
  }

 private:
  static constexpr double initial = 0.7;
  static constexpr double least = 0.098;
  static constexpr double decay_steps = 600.0;
  double value_ = initial;
};

}  // namespace troupe
