#include "runtime/executor/cpu/unpack_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/half.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using gguf::tensor_type;

// scale * code + minimum of element k of a group, as a packed kind means them.
double weight_of(const kernels::weight_group& group, kernels::weight_kind kind, std::size_t k) {
  const bool halves = kind == kernels::weight_kind::s8_half;
  const double scale = kernels::f16_to_f32(group.scales[halves ? k / 16 : 0]);
  const bool has_min = kind == kernels::weight_kind::u4_min || kind == kernels::weight_kind::s8_min;
  return scale * group.codes[k] + (has_min ? kernels::f16_to_f32(group.minimum) : 0.0);
}

TEST(unpack_blocks, groups_stand_for_the_weights_that_dequantising_gives) {
  for (const auto type : {tensor_type::q4_0, tensor_type::q4_1, tensor_type::q5_0, tensor_type::q5_1,
                          tensor_type::q8_0, tensor_type::q4_k, tensor_type::q5_k, tensor_type::q6_k}) {
    const auto kind = packed_kind(type);
    ASSERT_TRUE(kind.has_value());
    const std::size_t elements = gguf::block_elements(type);
    const std::string bytes = test::random_tensor(type, elements * 50, 1.0F, 99);
    // Scales of K-quants are products rounded to f16; all others are exact.
    const double tolerance = elements == 256 ? 1.0 / 1024 : 1e-6;
    for (std::size_t block = 0; block < 50; ++block) {
      const auto* at = reinterpret_cast<const std::byte*>(bytes.data()) + block * gguf::block_bytes(type);
      std::vector<float> expected(elements);
      gguf::dequantize(type, at, elements, expected.data());
      kernels::weight_group groups[8] = {};
      unpack_block(type, at, groups);
      for (std::size_t i = 0; i < elements; ++i) {
        const kernels::weight_group& group = groups[i / 32];
        const double parts = std::abs(kernels::f16_to_f32(group.scales[i % 32 / 16]) * group.codes[i % 32]) +
                             std::abs(kernels::f16_to_f32(group.scales[0]) * group.codes[i % 32]) +
                             std::abs(kernels::f16_to_f32(group.minimum));
        ASSERT_NEAR(weight_of(group, *kind, i % 32), expected[i], tolerance * parts + 1e-9)
            << to_string(type) << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace troupe
