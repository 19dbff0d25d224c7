// The paged KV memory of a device: where a token's key and value of one KV head lie.
#pragma once
#include <cstddef>
#include <cstdint>

// Callable on both sides; nothing where no CUDA compiler reads it.
#ifdef __CUDACC__
#define TROUPE_HOST_DEVICE __host__ __device__
#else
#define TROUPE_HOST_DEVICE
#endif

namespace troupe::kernels::cuda {

// fp8 is e4m3 of scale 1: what lies beyond +-448 is stored as that. An int8 element is code * scale, codes
// -127..127, one scale for the key and one for the value of a token and KV head.
enum class kv_element : std::int32_t { bf16, fp16, fp8, int8 };

constexpr std::size_t kv_element_bytes(kv_element element) {
  return element == kv_element::bf16 || element == kv_element::fp16 ? 2 : 1;
}

// Which half of a block: keys lie before values.
enum class kv_part : std::int32_t { key, value };

// data: [layer][block][key, value][kv_head][block_size][head_dim], aligned to 16 bytes; keys as rotated.
// scales: [layer][block][key, value][kv_head][block_size] for int8, else null.
// A token's elements are contiguous (a warp reads them in 16-byte pieces), and so are the tokens of a block
// and KV head: what one attention block reads is one run of block_size * head_dim elements after another.
struct paged_kv {
  void* data = nullptr;
  float* scales = nullptr;
  kv_element element = kv_element::bf16;
  std::int32_t num_layers = 0;
  std::int32_t num_blocks = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t block_size = 16;  // tokens of a block: 8, 16, 32 or 64
  std::int32_t head_dim = 0;     // a multiple of 16, 256 at most

  // Index into `scales` of a token of a block, and index of that token in tokens: times head_dim its place in
  // `data`, counted in elements.
  TROUPE_HOST_DEVICE std::int64_t token_index(std::int32_t layer, std::int32_t block, kv_part part,
                                              std::int32_t kv_head, std::int32_t token) const {
    const std::int64_t half =
        (static_cast<std::int64_t>(layer) * num_blocks + block) * 2 + static_cast<std::int32_t>(part);
    return (half * num_kv_heads + kv_head) * block_size + token;
  }
  TROUPE_HOST_DEVICE std::int64_t element_index(std::int32_t layer, std::int32_t block, kv_part part,
                                                std::int32_t kv_head, std::int32_t token) const {
    return token_index(layer, block, part, kv_head, token) * head_dim;
  }

  TROUPE_HOST_DEVICE std::int32_t block_shift() const {  // log2(block_size)
    return 3 + (block_size >= 16 ? 1 : 0) + (block_size >= 32 ? 1 : 0) + (block_size >= 64 ? 1 : 0);
  }

  constexpr std::size_t num_tokens() const {  // keys and values of all layers, each counted
    return static_cast<std::size_t>(num_layers) * static_cast<std::size_t>(num_blocks) * 2 *
           static_cast<std::size_t>(num_kv_heads) * static_cast<std::size_t>(block_size);
  }
  constexpr std::size_t data_bytes() const {
    return num_tokens() * static_cast<std::size_t>(head_dim) * kv_element_bytes(element);
  }
  constexpr std::size_t scale_bytes() const {
    return element == kv_element::int8 ? num_tokens() * sizeof(float) : 0;
  }
};

}  // namespace troupe::kernels::cuda
