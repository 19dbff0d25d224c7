// Up to how many rows a decoder's products are computed by kernels/cuda/few_row_product.hpp.
#pragma once
#include <cstdint>

namespace troupe {

enum class few_row_products : std::uint8_t {
  never,
  measured,  // where that was faster than the library's product with the kernels beside it
  always,    // wherever there is room: for tests
};

// Of each product of a layer, and of the logits; 0: none.
struct few_row_limits {
  std::int32_t qkv = 0;
  std::int32_t output = 0;
  std::int32_t gate_up = 0;
  std::int32_t down = 0;
  std::int32_t head = 0;
};

}  // namespace troupe
