// What the simulations of scheduler and company draw alike.
#pragma once
#include "runtime/scheduler/scheduler.hpp"
#include "tests/support/dice.hpp"

namespace troupe {

// How prompts are cut, and what is kept free. Needs max_model_len.
inline void draw_prefill_limits(dice& random, scheduler_limits& limits) {
  if (random.chance(20)) {
    limits.enable_chunked_prefill = false;
    limits.max_num_batched_tokens = limits.max_model_len + random.pick(0, 20);
  }
  if (random.chance(30)) limits.long_prefill_token_threshold = random.pick(1, 20);
  limits.max_num_partial_prefills = random.pick(1, 3);
  limits.long_prefill_share = 0.01 * random.pick(1, 100);
  if (random.chance(30)) limits.watermark = 0.1;
  limits.reserve_new_tokens = random.chance(20);
}

}  // namespace troupe
