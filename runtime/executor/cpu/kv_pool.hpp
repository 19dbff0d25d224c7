// The paged KV memory of all layers.
//
// Block b is contiguous: [layer][tile of 16 tokens][kv_head], each a tile of kernels/kv_tile.hpp with its K,
// its V and, in int8, their scales, so that copying a block's bytes copies all there is.
// Blocks of fewer than 16 tokens share tiles: slot s is place s % 16 of tile s / 16. A sequence then has no
// whole tiles of its own and attention gathers its tokens first: right, and slow.
// f16 rather than bf16 because its three more bits of mantissa serve keys and values better than range that
// normalised ones never use; what lies outside is clamped.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/kv_tile.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/machine/page_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

class kv_pool {
 public:
  kv_pool() = default;
  // As many blocks as `bytes` hold, and the scratch block behind them. Untouched blocks cost no memory.
  // Errors: invalid_argument (block size), unsupported (int8 with heads beyond max_int8_head_dim),
  // resource_exhausted (not even one block).
  static result<kv_pool> create(const model_config& config, kernels::kv_dtype dtype, std::int32_t block_size,
                                std::size_t bytes);
  // The scratch block alone. Errors: as create().
  static result<kv_pool> create_scratch(const model_config& config, kernels::kv_dtype dtype,
                                        std::int32_t block_size);

  const kv_layout& layout() const { return layout_; }
  kernels::kv_dtype dtype() const { return dtype_; }
  bool shares_tiles() const { return blocks_per_tile_ > 1; }

  // All layers of block `from` to block `to`.
  void copy_block(std::int32_t from, std::int32_t to);

  // The tile of one KV head that holds `offset` (a token's place within its block).
  std::byte* tile(std::int32_t block, std::int32_t offset, std::int32_t layer, std::int32_t kv_head) const {
    return memory_.data() + static_cast<std::size_t>(block / blocks_per_tile_) * stride_ +
           static_cast<std::size_t>(layer) * layer_bytes_ +
           static_cast<std::size_t>(offset / kernels::tile_tokens) * tile_bytes_ +
           static_cast<std::size_t>(kv_head) * head_bytes_;
  }
  // The place of `offset` within that tile.
  std::int32_t place(std::int32_t block, std::int32_t offset) const {
    return (block % blocks_per_tile_ * layout_.block_size + offset) % kernels::tile_tokens;
  }

 private:
  static result<kv_pool> describe(const model_config& config, kernels::kv_dtype dtype,
                                  std::int32_t block_size);
  result<void> allocate(std::int32_t num_blocks);
  void copy_places(std::int32_t from, std::int32_t to);

  kv_layout layout_;
  kernels::kv_dtype dtype_ = kernels::kv_dtype::f16;
  std::int32_t num_layers_ = 0;
  std::int32_t num_kv_heads_ = 0;
  std::int32_t head_dim_ = 0;
  std::int32_t blocks_per_tile_ = 1;
  std::size_t stride_ = 0;  // bytes of a block, or of the blocks that share tiles
  std::size_t layer_bytes_ = 0;
  std::size_t tile_bytes_ = 0;
  std::size_t head_bytes_ = 0;
  page_memory memory_;
};

}  // namespace troupe
