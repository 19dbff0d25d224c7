// Which of the attention kernels a KV memory needs. They are compiled in files of their own, for each element
// type.
#pragma once
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/attention/paged_attention.hpp"

namespace troupe::kernels::cuda {

void split_attention_bf16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream);
void split_attention_f16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream);
void chunk_attention_bf16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream);
void chunk_attention_f16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream);

// Calls launch.operator()<Stored, Dims>(): Dims is attention_dims(). A KV memory of 16 bits is of type
// Element.
template <class Element, class Launch>
void with_attention_types(const paged_kv& kv, const Launch& launch) {
  const auto with_dims = [&]<class Stored>() {
    switch (attention_dims(kv.head_dim)) {
      case 64:
        return launch.template operator()<Stored, 64>();
      case 128:
        return launch.template operator()<Stored, 128>();
      case 192:
        return launch.template operator()<Stored, 192>();
      case 256:
        return launch.template operator()<Stored, 256>();
      default:  // can_attend() has refused it
        return;
    }
  };
  switch (kv.element) {
    case kv_element::bf16:
    case kv_element::fp16:
      return with_dims.template operator()<Element>();
    case kv_element::fp8:
      return with_dims.template operator()<__nv_fp8_e4m3>();
    case kv_element::int8:
      return with_dims.template operator()<std::int8_t>();
  }
}

}  // namespace troupe::kernels::cuda
