#include "actors/company_limits.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

tl::unexpected<error> beyond_the_device(const char* name, std::int32_t wanted, std::int32_t at_start) {
  return fail(error_code::invalid_argument,
              fmt::format("{} cannot become {}: the device was started for {}; more needs a restart", name,
                          wanted, at_start),
              name);
}

}  // namespace

result<void> check_prompt_fits_step(const scheduler_limits& limits) {
  if (limits.enable_chunked_prefill || limits.max_num_batched_tokens >= limits.max_model_len) return {};
  return fail(
      error_code::invalid_argument,
      fmt::format("without chunked prefill a prompt runs in one step, but max_num_batched_tokens ({}) is "
                  "smaller than max_model_len ({}): raise the one or lower the other",
                  limits.max_num_batched_tokens, limits.max_model_len),
      "max_num_batched_tokens");
}

result<void> check_limits(const scheduler_limits& at_start, const scheduler_limits& wanted) {
  if (wanted.max_num_seqs > at_start.max_num_seqs)
    return beyond_the_device("max_num_seqs", wanted.max_num_seqs, at_start.max_num_seqs);
  if (wanted.max_num_batched_tokens > at_start.max_num_batched_tokens)
    return beyond_the_device("max_num_batched_tokens", wanted.max_num_batched_tokens,
                             at_start.max_num_batched_tokens);
  scheduler_limits together = at_start;
  together.max_num_batched_tokens = wanted.max_num_batched_tokens;
  return check_prompt_fits_step(together);
}

}  // namespace troupe
