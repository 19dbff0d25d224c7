// The sizes that buckets are made for when a model is served.
#pragma once
#include "config/settings.hpp"
#include "runtime/bucketing/engine_sizes.hpp"

namespace troupe::cli {

// Those that `troupe serve` has with these settings, before any memory is allocated: the context of the
// model, and the blocks that kv_cache_memory holds of its keys and values. Where no model file is there: a
// context of 4096, and as many blocks as max_num_seqs sequences of it fill. So too where
// max_model_len is set: then the model is not looked at.
engine_sizes served_sizes(const config::settings& settings, std::int32_t block_size);

}  // namespace troupe::cli
