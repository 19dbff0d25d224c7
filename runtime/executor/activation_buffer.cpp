#include "runtime/executor/activation_buffer.hpp"

#include <algorithm>

namespace troupe {

activation_buffer::activation_buffer(std::int32_t rows, std::int32_t inputs) {
  const auto count = static_cast<std::size_t>(rows);
  const std::size_t groups = (static_cast<std::size_t>(inputs) + 31) / 32;
  values_.resize(count * groups * 32);
  codes_.resize(count * groups * 32);
  scales_.resize(count * groups);
  sums_.resize(count * groups);
  offsets_.resize(count * groups);
  half_offsets_.resize(count * groups * 2);
  rows_ = {values_.data(), groups * 32,     codes_.data(),        groups * 32, scales_.data(),
           sums_.data(),   offsets_.data(), half_offsets_.data(), groups};
}

void activation_buffer::fill(const kernels::kernel_table& kernels, const fused_linear& linear,
                             std::int32_t row, const float* values, const float* norm, float epsilon) {
  const auto r = static_cast<std::size_t>(row);
  float* own = values_.data() + r * rows_.value_stride;
  if (norm != nullptr) {
    kernels.rms_norm(values, norm, linear.inputs, epsilon, own);
    values = own;
  } else if (linear.reads_values) {
    std::copy_n(values, linear.inputs, own);
  }
  if (!linear.reads_codes) return;
  const std::size_t group = r * rows_.group_stride;
  kernels.quantize_row(values, linear.inputs,
                       {codes_.data() + r * rows_.code_stride, scales_.data() + group, sums_.data() + group,
                        offsets_.data() + group, half_offsets_.data() + 2 * group});
}

}  // namespace troupe
