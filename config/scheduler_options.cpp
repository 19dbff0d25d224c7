// What runs, waits and is refused.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> scheduler_options() {
  return {
      number_option("max_num_seqs", group::engine, &settings::max_num_seqs, 1, 4096,
                    "Requests that run at the same time"),
      number_option("max_num_batched_tokens", group::engine, &settings::max_num_batched_tokens, 1, 65'536,
                    "Tokens of one step: prefill chunks and decodes together"),
      number_option("max_num_queued_requests", group::engine, &settings::max_num_queued_requests, 1,
                    1'000'000, "Requests that may wait for their turn; more are refused with status 429"),
  };
}

}  // namespace troupe::config
