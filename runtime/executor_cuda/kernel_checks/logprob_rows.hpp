// Log-probabilities of rows of logits, by the device and by runtime/sampling.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/sampling/sampler.hpp"

namespace troupe::checks {

struct logprob_case {
  std::vector<float> logits;
  std::vector<std::uint32_t> mask;  // empty: all allowed
  token_id token;
  std::int32_t top;
};

token_logprobs logprobs_on_host(const logprob_case& row);
// All in one batch; `top` of each is at most max_top.
std::vector<token_logprobs> logprobs_on_device(const std::vector<logprob_case>& rows, std::int32_t max_top);

}  // namespace troupe::checks
