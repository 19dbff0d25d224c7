#include "runtime/executor/cpu/kv_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe {

result<kv_pool> kv_pool::describe(const model_config& config, kernels::kv_dtype dtype,
                                  std::int32_t block_size) {
  const bool divides = block_size > 0 && kernels::tile_tokens % block_size == 0;
  if (!divides && (block_size <= 0 || block_size % kernels::tile_tokens != 0 || block_size > 4096)) {
    return fail(error_code::invalid_argument,
                "block size must be 1, 2, 4, 8 or a multiple of 16, at most 4096", "block_size");
  }
  if (dtype == kernels::kv_dtype::int8 && config.head_dim > kernels::max_int8_head_dim) {
    return fail(error_code::unsupported, "int8 KV does not take attention heads of this size",
                "kv_cache_dtype");
  }
  kv_pool pool;
  pool.dtype_ = dtype;
  pool.layout_.dtype = kernels::to_string(dtype);
  pool.num_layers_ = config.num_layers;
  pool.num_kv_heads_ = config.num_kv_heads;
  pool.head_dim_ = config.head_dim;
  pool.blocks_per_tile_ = divides ? kernels::tile_tokens / block_size : 1;
  const auto shared = static_cast<std::size_t>(pool.blocks_per_tile_);
  const auto tiles = static_cast<std::size_t>(block_size) * shared / kernels::tile_tokens;
  pool.head_bytes_ = kernels::tile_bytes(dtype, config.head_dim);
  pool.tile_bytes_ = pool.head_bytes_ * static_cast<std::size_t>(config.num_kv_heads);
  pool.layer_bytes_ = pool.tile_bytes_ * tiles;
  if (__builtin_mul_overflow(pool.layer_bytes_, static_cast<std::size_t>(config.num_layers), &pool.stride_)) {
    return fail(error_code::resource_exhausted, "a KV block is larger than the address space");
  }
  pool.layout_.bytes_per_block = pool.stride_ / shared;
  pool.layout_.block_size = block_size;
  return pool;
}

result<kv_pool> kv_pool::create(const model_config& config, kernels::kv_dtype dtype, std::int32_t block_size,
                                std::size_t bytes) {
  result<kv_pool> pool = describe(config, dtype, block_size);
  if (!pool) return pool;
  const auto shared = static_cast<std::size_t>(pool->blocks_per_tile_);
  const std::size_t blocks = bytes / pool->stride_ * shared;
  if (blocks == 0) {
    return fail(
        error_code::resource_exhausted,
        fmt::format("the KV memory holds no block: {} bytes given, {} bytes a block", bytes, pool->stride_));
  }
  // Slots are 32-bit numbers, those of the scratch block too.
  const auto most =
      static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() / block_size) / shared * shared -
      shared;
  if (auto got = pool->allocate(static_cast<std::int32_t>(std::min(blocks, most))); !got)
    return tl::unexpected(got.error());
  return pool;
}

result<kv_pool> kv_pool::create_scratch(const model_config& config, kernels::kv_dtype dtype,
                                        std::int32_t block_size) {
  result<kv_pool> pool = describe(config, dtype, block_size);
  if (!pool) return pool;
  if (auto got = pool->allocate(0); !got) return tl::unexpected(got.error());
  return pool;
}

result<void> kv_pool::allocate(std::int32_t num_blocks) {
  layout_.num_blocks = num_blocks;
  const std::size_t strides = static_cast<std::size_t>(num_blocks / blocks_per_tile_) + 1;
  auto memory = page_memory::allocate(strides * stride_, true);
  if (!memory) return tl::unexpected(memory.error());
  memory_ = std::move(*memory);
  return {};
}

void kv_pool::copy_block(std::int32_t from, std::int32_t to) {
  if (shares_tiles()) return copy_places(from, to);
  std::memmove(tile(to, 0, 0, 0), tile(from, 0, 0, 0), layout_.bytes_per_block);
}

void kv_pool::copy_places(std::int32_t from, std::int32_t to) {
  for (std::int32_t layer = 0; layer < num_layers_; ++layer) {
    for (std::int32_t head = 0; head < num_kv_heads_; ++head) {
      for (std::int32_t i = 0; i < layout_.block_size; ++i) {
        kernels::copy_token(dtype_, head_dim_, tile(from, i, layer, head), place(from, i),
                            tile(to, i, layer, head), place(to, i));
      }
    }
  }
}

}  // namespace troupe
