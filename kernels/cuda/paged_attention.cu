#include "kernels/cuda/paged_attention.hpp"

#include "kernels/cuda/attention_kernels.cuh"

namespace troupe::kernels::cuda {

bool can_attend(const paged_kv& kv, element_type type) {
  const bool of_type = kv.element == (type == element_type::bf16 ? kv_element::bf16 : kv_element::fp16);
  // What the kernels count in 32 bits: a layer's chunks of eight elements.
  const std::size_t chunks = kv.num_layers == 0 ? 0
                                                : kv.num_tokens() / static_cast<std::size_t>(kv.num_layers) *
                                                      static_cast<std::size_t>(kv.head_dim) / 8;
  return (of_type || kv_element_bytes(kv.element) == 1) && kv.head_dim >= 16 && kv.head_dim <= 256 &&
         kv.head_dim % 16 == 0 && kv.block_size == 1 << kv.block_shift() && chunks >> 32 == 0;
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
