#include "kernels/cuda/attention/paged_attention.hpp"

#include <limits>

#include "kernels/cuda/attention/attention_kernels.cuh"
#include "kernels/cuda/attention/kv_chunk.cuh"

namespace troupe::kernels::cuda {

bool can_attend(const paged_kv& kv, element_type type) {
  const bool of_type = kv.element == (type == element_type::bf16 ? kv_element::bf16 : kv_element::fp16);
  return (of_type || kv_element_bytes(kv.element) == 1) && can_attend(kv.head_dim) &&
         kv.block_size == 1 << kv.block_shift() && kv.num_blocks <= most_kv_blocks(kv);
}

std::int32_t most_kv_blocks(const paged_kv& kv) {
  const std::int64_t chunks =
      std::int64_t{2} * kv.num_kv_heads * kv.block_size * kv.head_dim / chunk_elements;
  const std::int64_t by_slots = std::numeric_limits<std::int32_t>::max() / kv.block_size;
  const std::int64_t by_chunks = chunks == 0 ? by_slots : std::numeric_limits<std::uint32_t>::max() / chunks;
  return static_cast<std::int32_t>(std::min(by_slots, by_chunks));
}

void attend_split(const attention_arguments& arguments, element_type type, std::int32_t blocks,
                  cudaStream_t stream) {
  if (type == element_type::bf16) return split_attention_bf16(arguments, blocks, stream);
  split_attention_f16(arguments, blocks, stream);
}

void attend_chunks(const attention_arguments& arguments, element_type type, std::int32_t blocks,
                   cudaStream_t stream) {
  if (type == element_type::bf16) return chunk_attention_bf16(arguments, blocks, stream);
  chunk_attention_f16(arguments, blocks, stream);
}

}  // namespace troupe::kernels::cuda
