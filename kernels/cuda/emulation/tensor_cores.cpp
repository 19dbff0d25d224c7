#include "kernels/cuda/emulation/tensor_cores.hpp"

#include <array>
#include <cmath>

#include "kernels/cuda/emulation/execution.hpp"
#include "kernels/cuda/emulation/running_block.hpp"
#include "kernels/half.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

constexpr int max_products = 16;

// What a lane shows the others of its warp, each element as a float: [product][register][half].
struct operands {
  float a[max_products][4][2];
  float b[max_products][2][2];
};

std::array<operands, max_block_threads> shown;

void widen(bool fp16, std::uint32_t pair, float (&halves)[2]) {
  for (int i = 0; i < 2; i++) {
    const auto bits = static_cast<std::uint16_t>(pair >> (16 * i));
    halves[i] = fp16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

void meet() {
  meet_warp({.operation = warp_operation::multiply, .mask = ~0U, .place = {__FILE__, __LINE__}});
}

}  // namespace

void multiply_tiles(bool fp16, int steps, int tiles, float* sums, const std::uint32_t* a,
                    const std::uint32_t* b) {
  if (steps > max_products || steps * tiles > max_products)
    stop_kernel("multiply_tiles: too many products at once");
  const unsigned lane = running.current % warp_size;
  operands* warp = &shown[running.current - lane];
  for (int i = 0; i < 4 * steps; i++) widen(fp16, a[i], warp[lane].a[i / 4][i % 4]);
  for (int i = 0; i < 2 * steps * tiles; i++) widen(fp16, b[i], warp[lane].b[i / 2][i % 2]);
  meet();
  for (int tile = 0; tile < tiles; tile++) {
    for (unsigned i = 0; i < 4; i++) {
      const unsigned row = lane / 4 + 8 * (i / 2);
      const unsigned column = lane % 4 * 2 + i % 2;
      float sum = sums[4 * tile + static_cast<int>(i)];
      for (int step = 0; step < steps; step++) {
        for (unsigned k = 0; k < 16; k++) {
          sum = std::fma(warp[row % 8 * 4 + k % 8 / 2].a[step][row / 8 + k / 8 * 2][k % 2],
                         warp[column * 4 + k % 8 / 2].b[step * tiles + tile][k / 8][k % 2], sum);
        }
      }
      sums[4 * tile + static_cast<int>(i)] = sum;
    }
  }
  meet();  // only then may a lane show something else
}

}  // namespace troupe::kernels::cuda::emulation
