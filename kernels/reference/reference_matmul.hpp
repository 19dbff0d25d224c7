#pragma once
#include "kernels/kernel_table.hpp"

namespace troupe::kernels::reference {

// kernel_table::matmul.
void matmul(const packed_matrix& weights, std::int32_t first, std::int32_t last, const activation_rows& input,
            std::int32_t rows, float* out, std::size_t out_stride, bool accumulate);

}  // namespace troupe::kernels::reference
