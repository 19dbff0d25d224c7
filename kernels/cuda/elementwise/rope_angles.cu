#include "kernels/cuda/elementwise/rope_angles.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int angle_threads = 128;

__global__ void __launch_bounds__(angle_threads) rope_angles_kernel(rope_angles_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  const auto angle = static_cast<std::int64_t>(blockIdx.x) * angle_threads + threadIdx.x;
  if (angle >= static_cast<std::int64_t>(a.rows) * a.pairs) return;
  const double radians = static_cast<double>(a.positions[angle / a.pairs]) *
                         static_cast<double>(a.inverse_frequencies[angle % a.pairs]);
  double sine = 0;
  double cosine = 0;
  sincos(radians, &sine, &cosine);
  const float both[2] = {static_cast<float>(cosine) * a.scale, static_cast<float>(sine) * a.scale};
  store_floats<2>(a.angles + 2 * angle, both);
}

}  // namespace

void rope_angles(const rope_angles_arguments& arguments, cudaStream_t stream) {
  const std::int64_t angles = static_cast<std::int64_t>(arguments.rows) * arguments.pairs;
  if (angles == 0) return;
  const dim3 grid(static_cast<unsigned>((angles + angle_threads - 1) / angle_threads));
  TROUPE_LAUNCH_EARLY(rope_angles_kernel, grid, angle_threads, 0, stream, arguments);
}

}  // namespace troupe::kernels::cuda
