// What executors make of the same text, to be compared.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/executor/executor.hpp"

namespace troupe {

// Tokens that ask() has an executor find behind a prompt; all but the last become part of the text.
inline constexpr std::int32_t asked_tokens = 16;

// What one executor makes of a text: of each row the best token, and by how much it is the best.
struct model_answer {
  std::vector<float> prompt_logprobs;
  std::vector<token_id> best;
  std::vector<float> margins;
};

// The prompt in one step, then decodes: of the tokens that `leader` found best, so that all go on with the
// same text whatever they would choose themselves; of its own where there is none. Throws what executors
// throw.
model_answer ask(executor& device, const std::vector<token_id>& prompt, const model_answer* leader);

// The rows of whose best token `sure` is sure - by a margin of 0.5, times the tolerance - and of those where
// `other` has another one.
struct choices {
  std::int32_t compared = 0;
  std::int32_t different = 0;
};
choices compare_choices(const model_answer& other, const model_answer& sure, double tolerance);

}  // namespace troupe
