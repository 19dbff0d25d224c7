// What changes logits before a token is drawn: bias, minimum length, penalties.
#pragma once
#include <span>

#include "runtime/sampling/sampler.hpp"

namespace troupe {

// The logits after the row's processors: `logits` itself where there are none, else a changed copy in
// scratch.logits. `is_masked`: where the minimum length would leave no token, it does not hold.
std::span<const float> process_logits(std::span<const float> logits, const sample_row& row,
                                      std::span<const token_id> end_tokens, bool is_masked,
                                      sampler_scratch& scratch);

}  // namespace troupe
