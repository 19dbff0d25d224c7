#include "kernels/cuda/attention/attention_kernels.cuh"
#include "kernels/cuda/attention/split_attention.cuh"

namespace troupe::kernels::cuda {

void split_attention_f16(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream) {
  with_attention_types<__half>(arguments.kv, [&]<class Stored, int Dims>() {
    launch_split<__half, Stored, Dims>(arguments, blocks, stream);
  });
}

}  // namespace troupe::kernels::cuda
