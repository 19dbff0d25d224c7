// How long a step takes that verifies drafts: by its rows, by how long the contexts of these are, and by
// whether their tokens are drawn at random.
#pragma once
#include <cstdint>
#include <optional>

#include "runtime/drafting/step_costs.hpp"
#include "runtime/timed_step.hpp"

namespace troupe {

// The usual steps are greedy and behind a short context. What others take more is taken for proportional to
// rows, and to the tokens beyond that context.
class verification_costs {
 public:
  void measured(const timed_step& step, double time);
  // A step of a load has taken so long, of which `beside` is what its rows take more than usual ones:
  // step_costs::served(), by little, since one step may have waited for a core. Ignored where nothing is
  // known of so many rows.
  void served(std::int32_t rows, double beside, double time);

  const step_costs& usual() const { return usual_; }
  // What a row takes more than a usual one behind so many tokens: the first of its sequence in a step, and
  // each further one. 0 where it was not measured.
  double of_first_row(std::int32_t context, bool is_random) const;
  double of_further_row(std::int32_t context, bool is_random) const;

 private:
  struct further_time {
    std::int32_t rows = 0;
    double each_token = 0.0;  // of the context, all rows together
  };
  void update();

  step_costs usual_;
  std::optional<further_time> one_;      // of a step with one row behind a long context
  std::optional<further_time> several_;  // of one with several
  double token_first_ = 0.0;             // by token of the context beyond the short one, of the first row ...
  double token_further_ = 0.0;           // ... and of each further one
  double random_row_ = 0.0;
};

}  // namespace troupe
