#include "runtime/executor/cpu/unpack_blocks.hpp"

#include <algorithm>

#include "kernels/half.hpp"
#include "runtime/gguf/blocks.hpp"

namespace troupe {
namespace {

using gguf::tensor_type;
using kernels::weight_group;
using kernels::weight_kind;

// Too large a product stays finite, so that one odd block cannot spread infinities.
std::uint16_t to_half(float value) { return kernels::f32_to_f16(std::clamp(value, -65504.0F, 65504.0F)); }

// The kernels' 4-bit codes are unsigned: Q4_0's -8 goes into a minimum.
constexpr std::int16_t q4_0_offset = 8;

}  // namespace

std::optional<weight_kind> packed_kind(tensor_type type) {
  switch (type) {
    case tensor_type::q4_0:
    case tensor_type::q4_1:
    case tensor_type::q4_k:
      return weight_kind::u4_min;
    case tensor_type::q5_0:
    case tensor_type::q8_0:
      return weight_kind::s8;
    case tensor_type::q5_1:
    case tensor_type::q5_k:
      return weight_kind::s8_min;
    case tensor_type::q6_k:
      return weight_kind::s8_half;
    case tensor_type::f16:
      return weight_kind::f16;
    case tensor_type::bf16:
      return weight_kind::bf16;
    case tensor_type::f32:
      return weight_kind::f32;
  }
  return std::nullopt;
}

void unpack_block(tensor_type type, const std::byte* block, weight_group* groups) {
  gguf::block_group decoded[8];
  gguf::decode_block(type, block, decoded);
  for (std::size_t j = 0; j < gguf::block_elements(type) / 32; ++j) {
    gguf::block_group& group = decoded[j];
    if (type == tensor_type::q4_0) {
      for (std::int16_t& code : group.codes) code = static_cast<std::int16_t>(code + q4_0_offset);
      group.minimum = -q4_0_offset * group.scales[0];
    }
    std::copy(std::begin(group.codes), std::end(group.codes), groups[j].codes);
    groups[j].scales[0] = to_half(group.scales[0]);
    groups[j].scales[1] = to_half(group.scales[1]);
    groups[j].minimum = to_half(group.minimum);
  }
}

}  // namespace troupe
