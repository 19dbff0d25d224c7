#include "main/measurements/served_sizes.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "main/setup/default_model.hpp"
#include "runtime/blocks_for.hpp"
#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/cpu/kv_pool.hpp"
#include "runtime/model/model.hpp"

namespace troupe::cli {
namespace {

constexpr std::int32_t usual_model_len = 4096;
constexpr std::int32_t usual_block_size = 16;

struct model_sizes {
  std::int32_t context = 0;
  std::int64_t tokens_in_cache = 0;
};

std::optional<model_sizes> sizes_of_model(const config::settings& settings) {
  const auto path = find_model(settings.model);
  if (!path) return std::nullopt;
  const auto model = load_model(*path);
  if (!model) return std::nullopt;
  const auto dtype = settings.kv_cache_dtype == "int8" ? kernels::kv_dtype::int8 : kernels::kv_dtype::f16;
  const auto pool = kv_pool::create_scratch((*model)->config, dtype, usual_block_size);
  if (!pool) return std::nullopt;
  const std::uint64_t blocks = settings.kv_cache_memory / pool->layout().bytes_per_block;
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  return model_sizes{(*model)->config.context_length,
                     static_cast<std::int64_t>(std::min(blocks, most)) * usual_block_size};
}

}  // namespace

engine_sizes served_sizes(const config::settings& settings, std::int32_t block_size) {
  engine_sizes sizes;
  sizes.max_num_seqs = settings.max_num_seqs;
  sizes.max_num_batched_tokens = settings.max_num_batched_tokens;
  sizes.block_size = block_size;
  std::optional<model_sizes> model;
  if (settings.max_model_len == 0) model = sizes_of_model(settings);
  std::int64_t context = settings.max_model_len > 0 ? settings.max_model_len : usual_model_len;
  std::int64_t blocks = blocks_for(context, block_size) * sizes.max_num_seqs;
  if (model) {
    context = std::clamp<std::int64_t>(model->tokens_in_cache, 1, model->context);
    blocks = model->tokens_in_cache / block_size;
  }
  sizes.max_model_len = static_cast<std::int32_t>(context);
  sizes.num_blocks = static_cast<std::int32_t>(std::clamp<std::int64_t>(blocks, 1, max_bucket_value));
  return sizes;
}

}  // namespace troupe::cli
