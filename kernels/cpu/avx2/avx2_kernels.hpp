#pragma once
#include "kernels/kernel_table.hpp"

namespace troupe::kernels {

extern const kernel_table avx2_kernels;

}  // namespace troupe::kernels
