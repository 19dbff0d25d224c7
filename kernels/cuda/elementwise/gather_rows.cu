#include "kernels/cuda/device.cuh"
#include "kernels/cuda/elementwise/gather_rows.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr int gathering_threads = 128;

__global__ void __launch_bounds__(gathering_threads)
    gather_kernel(const float4* rows, const std::int32_t* indices, std::int32_t vectors, float4* out) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  const float4* from = rows + static_cast<std::int64_t>(__ldg(indices + blockIdx.x)) * vectors;
  float4* to = out + static_cast<std::int64_t>(blockIdx.x) * vectors;
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < vectors; i += gathering_threads)
    to[i] = from[i];
}

}  // namespace

void gather_rows(const float* rows, const std::int32_t* indices, std::int32_t count, std::int32_t width,
                 float* out, cudaStream_t stream) {
  if (count == 0) return;
  TROUPE_LAUNCH_EARLY(gather_kernel, dim3(static_cast<unsigned>(count)), dim3(gathering_threads), 0, stream,
                      reinterpret_cast<const float4*>(rows), indices, width / 4,
                      reinterpret_cast<float4*>(out));
}

}  // namespace troupe::kernels::cuda
