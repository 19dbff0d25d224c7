#pragma once
#include <cstddef>

#include "kernels/kernel_table.hpp"

namespace troupe::kernels::reference {

// The functions of kernel_table by the same names; store_kv and attend are those of f16 tiles.
void store_kv(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
              std::byte* tile);
void attend(attend_arguments& arguments);

// Turns scores [limit] into exp(score - maximum) in place; gives the maximum and, folded from 16 lanes, the
// sum.
struct softmax_state {
  float maximum;
  float sum;
};
softmax_state softmax(float* scores, std::size_t limit);

// Clamped to what is finite in f16; NaN becomes the lowest.
float finite_in_f16(float value);

void merge(attention_state& state, float maximum, float sum, const float* output, std::int32_t head_dim);
void finish(const attention_state& state, std::int32_t head_dim, float* out);

}  // namespace troupe::kernels::reference
