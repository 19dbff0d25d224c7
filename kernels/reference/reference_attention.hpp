#pragma once
#include "kernels/kernel_table.hpp"

namespace troupe::kernels::reference {

// The functions of kernel_table by the same names.
void store_kv(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
              std::uint16_t* tile);
void attend(attend_arguments& arguments);
void merge(attention_state& state, float maximum, float sum, const float* output, std::int32_t head_dim);
void finish(const attention_state& state, std::int32_t head_dim, float* out);

}  // namespace troupe::kernels::reference
