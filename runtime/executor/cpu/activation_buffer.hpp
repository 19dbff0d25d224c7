// Rows of activations ready for a matrix product: as floats and as int8 codes with their scales.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "runtime/executor/cpu/packed_model.hpp"

namespace troupe {

class activation_buffer {
 public:
  // Room for `rows` rows of up to `inputs` values.
  activation_buffer(std::int32_t rows, std::int32_t inputs);
  activation_buffer(activation_buffer&&) = default;
  activation_buffer& operator=(activation_buffer&&) = default;

  // The bytes of such a buffer.
  static std::size_t bytes_for(std::int32_t rows, std::int32_t inputs);

  // Fills row `row` with `values` [linear.inputs], normalised where `norm` is not null, in the forms that
  // `linear` reads.
  void fill(const kernels::kernel_table& kernels, const fused_linear& linear, std::int32_t row,
            const float* values, const float* norm, float epsilon);

  const kernels::activation_rows& rows() const { return rows_; }

 private:
  std::vector<float> values_;
  std::vector<kernels::quantized_group> groups_;
  kernels::activation_rows rows_{};
};

}  // namespace troupe
