// The paged KV memory of all layers.
//
// Block b is contiguous: [layer][tile of 16 tokens][kv_head][K: head_dim x 16 tokens, V: 16 tokens x
// head_dim] in f16. K lies transposed so that 16 scores come from whole vectors with no sums across lanes.
// f16 rather than bf16 because its three more bits of mantissa serve keys and values better than range that
// normalised ones never use; what lies outside is clamped.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/executor/executor.hpp"
#include "runtime/executor/page_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

class kv_pool {
 public:
  kv_pool() = default;
  // As many blocks as `bytes` hold. Untouched blocks cost no memory.
  // Errors: invalid_argument (block size), resource_exhausted (not even one block).
  static result<kv_pool> create(const model_config& config, std::int32_t block_size, std::size_t bytes);

  const kv_layout& layout() const { return layout_; }

  // The tile of one KV head that holds `offset` (a token's place within its block).
  std::uint16_t* tile(std::int32_t block, std::int32_t offset, std::int32_t layer,
                      std::int32_t kv_head) const {
    const std::size_t byte = static_cast<std::size_t>(block) * layout_.bytes_per_block +
                             static_cast<std::size_t>(layer) * layer_bytes_ +
                             static_cast<std::size_t>(offset / 16) * tile_bytes_ +
                             static_cast<std::size_t>(kv_head) * head_bytes_;
    return reinterpret_cast<std::uint16_t*>(memory_.data() + byte);
  }

 private:
  kv_layout layout_;
  std::size_t layer_bytes_ = 0;
  std::size_t tile_bytes_ = 0;
  std::size_t head_bytes_ = 0;
  page_memory memory_;
};

}  // namespace troupe
