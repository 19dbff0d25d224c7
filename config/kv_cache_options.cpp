// The KV cache.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> kv_cache_options() {
  return {
      with_aliases(
          or_divisor(number_option("block_size", group::engine, &settings::block_size, 1, 1024,
                                   "Tokens of one KV cache block; attention is slow below 16; a CUDA device "
                                   "takes 8, 16, 32 or 64",
                                   16)),
          {"page_size"}),
      switch_option(
          "enable_prefix_caching", group::engine, &settings::enable_prefix_caching,
          "Keep the KV cache of prompts and answers, and take it up again where another request begins "
          "the same"),
      size_option("kv_cache_memory", group::engine, &settings::kv_cache_memory, mib, 16 * tib,
                  "Memory for the KV cache; a draft model's, for as many tokens, comes beside it"),
      text_option(
          "kv_cache_dtype", group::engine, &settings::kv_cache_dtype,
          "How keys and values are stored; int8 and fp8 take half the memory; auto: f16 on the CPU, what "
          "--dtype says on a CUDA device; bf16 and fp8 are for CUDA devices alone",
          {"auto", "f16", "int8", "bf16", "fp8"}),
      ratio_option("memory_utilization", group::engine, &settings::memory_utilization, 0, 1000,
                   "Share of the memory that is free beside the weights for the KV cache, in place of "
                   "--kv-cache-memory; 0: off"),
      ratio_option("gpu_memory_utilization", group::engine, &settings::gpu_memory_utilization, 1, 1000,
                   "Share of a CUDA device's memory that may be used: what the weights and steps of the "
                   "model, and of a "
                   "draft model, leave holds the KV cache, or both"),
  };
}

}  // namespace troupe::config
