#include "actors/start/engine_options.hpp"

#include <utility>

namespace troupe {

bool engine_options::has_default_kv_cache() const {
  return kv_cache_bytes == engine_options{}.kv_cache_bytes;
}

cpu_executor_options executor_options_of(const engine_options& options, std::vector<token_id> end_tokens) {
  cpu_executor_options out;
  out.limits = {.max_rows = options.max_num_batched_tokens,
                .max_sequences = options.max_num_seqs,
                .block_size = options.block_size,
                .kv_cache_bytes = options.kv_cache_bytes,
                .samples_of_sequence = options.most_guesses + 1};
  out.memory_utilization = options.memory_utilization;
  out.threads = options.threads;
  out.kernel_path = options.kernel_path;
  out.dtype = options.dtype;
  out.kv_cache_dtype = options.kv_cache_dtype;
  out.end_tokens = std::move(end_tokens);
  return out;
}

}  // namespace troupe
