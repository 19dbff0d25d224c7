#include "kernels/cuda/attention/attention_kernels.cuh"
#include "kernels/cuda/attention/split_attention.cuh"

namespace troupe::kernels::cuda {

void split_attention_bf16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream) {
  with_attention_types<__nv_bfloat16>(arguments.kv, [&]<class Stored, int Dims>() {
    launch_split<__nv_bfloat16, Stored, Dims>(arguments, blocks, stream);
  });
}

}  // namespace troupe::kernels::cuda
