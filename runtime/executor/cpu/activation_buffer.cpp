#include "runtime/executor/cpu/activation_buffer.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::size_t groups_of(std::int32_t inputs) { return (static_cast<std::size_t>(inputs) + 31) / 32; }

std::size_t blocks_of(std::int32_t rows) {
  return (static_cast<std::size_t>(rows) + kernels::row_block - 1) / kernels::row_block;
}

}  // namespace

std::size_t activation_buffer::bytes_for(std::int32_t rows, std::int32_t inputs) {
  const std::size_t groups = groups_of(inputs);
  return static_cast<std::size_t>(rows) * groups * 32 * sizeof(float) +
         blocks_of(rows) * groups * kernels::row_block * sizeof(kernels::quantized_group);
}

activation_buffer::activation_buffer(std::int32_t rows, std::int32_t inputs) {
  const std::size_t groups = groups_of(inputs);
  const std::size_t blocks = blocks_of(rows);
  values_.resize(static_cast<std::size_t>(rows) * groups * 32);
  groups_.resize(blocks * groups * kernels::row_block);
  rows_ = {values_.data(), groups * 32, groups_.data(), groups};
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
  const std::size_t block = r / kernels::row_block * rows_.groups_per_row * kernels::row_block;
  kernels.quantize_row(values, linear.inputs, groups_.data() + block + r % kernels::row_block);
}

}  // namespace troupe
