#pragma once
#include "kernels/kernel_table.hpp"

namespace troupe::kernels::reference {

// kv_kernels of int8 tiles.
void store_kv_int8(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
                   std::byte* tile);
void attend_int8(attend_arguments& arguments);

}  // namespace troupe::kernels::reference
