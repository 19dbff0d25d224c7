#include "runtime/executor_cuda/kernel_checks/quantized_weights.hpp"

#include "kernels/half.hpp"

namespace troupe::checks {

using kernels::weight_group;
using kernels::weight_kind;

quantized_weights::quantized_weights(weight_kind kind, std::int32_t outputs, std::int32_t inputs,
                                     std::mt19937& random)
    : layout_(kernels::describe_tiled(kind, outputs, inputs)),
      values_(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs)),
      data_(pack(random)) {
  layout_.data = data_.data();
}

std::vector<std::byte> quantized_weights::pack(std::mt19937& random) {
  std::vector<std::byte> packed(kernels::tiled_bytes(layout_));
  for (std::int32_t output = 0; output < layout_.outputs; ++output) {
    for (std::int32_t group = 0; group < layout_.inputs / kernels::group_inputs; ++group) {
      const weight_group weights = random_group(random);
      kernels::pack_tiled_group(layout_, packed.data(), output, group, weights);
      for (std::size_t k = 0; k < kernels::group_inputs; ++k) {
        const auto at = static_cast<std::size_t>(output * layout_.inputs + group * kernels::group_inputs) + k;
        values_[at] = value_of(weights, k);
      }
    }
  }
  return packed;
}

weight_group quantized_weights::random_group(std::mt19937& random) const {
  const bool is_nibble = layout_.kind == weight_kind::u4_min;
  std::uniform_int_distribution<int> code(is_nibble ? 0 : -128, is_nibble ? 15 : 127);
  std::uniform_real_distribution<float> scale(0.001F, 0.05F);
  weight_group weights{};
  for (std::int16_t& c : weights.codes) c = static_cast<std::int16_t>(code(random));
  for (std::uint16_t& s : weights.scales) s = kernels::f32_to_f16(scale(random));
  weights.minimum = kernels::f32_to_f16(-8 * scale(random));
  return weights;
}

double quantized_weights::value_of(const weight_group& weights, std::size_t k) const {
  const bool is_second = layout_.kind == weight_kind::s8_half && k >= 16;
  const bool has_minimum = layout_.kind == weight_kind::u4_min || layout_.kind == weight_kind::s8_min;
  const double scale = kernels::f16_to_f32(weights.scales[is_second ? 1 : 0]);
  return scale * weights.codes[k] + (has_minimum ? kernels::f16_to_f32(weights.minimum) : 0.0F);
}

}  // namespace troupe::checks
