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

result<void> check_limits(const scheduler_limits& at_start, const scheduler_limits& wanted) {
  if (wanted.max_num_seqs > at_start.max_num_seqs)
    return beyond_the_device("max_num_seqs", wanted.max_num_seqs, at_start.max_num_seqs);
  if (wanted.max_num_batched_tokens > at_start.max_num_batched_tokens)
    return beyond_the_device("max_num_batched_tokens", wanted.max_num_batched_tokens,
                             at_start.max_num_batched_tokens);
  if (!at_start.enable_chunked_prefill && wanted.max_num_batched_tokens < at_start.max_model_len)
    return fail(
        error_code::invalid_argument,
        fmt::format("max_num_batched_tokens cannot become {}: without chunked prefill a step holds the "
                    "longest context ({})",
                    wanted.max_num_batched_tokens, at_start.max_model_len),
        "max_num_batched_tokens");
  return {};
}

}  // namespace troupe
