// Random weights and activations for kernel tests, and the tables that this CPU can run.
#pragma once
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/packed_weights.hpp"

namespace troupe::test {

// Memory at a multiple of 64 bytes, as packed weights and activations need.
struct alignas(64) cache_line {
  std::byte bytes[64];
};

enum class values { normal, zeros, huge, extreme_codes };

// A packed matrix and the fp32 weights that it stands for.
struct random_matrix {
  kernels::packed_matrix packed{};
  std::vector<float> weights;  // [outputs][inputs]
  std::vector<cache_line> memory;
};
random_matrix make_matrix(kernels::weight_kind kind, std::int32_t outputs, std::int32_t inputs,
                          values kind_of_values, std::mt19937& random);

// Rows of activations, quantised by `table` where `inputs` is a multiple of 32.
struct random_rows {
  std::vector<float> values;
  std::vector<kernels::quantized_group> groups;
  kernels::activation_rows view{};
};
random_rows make_rows(const kernels::kernel_table& table, std::int32_t rows, std::int32_t inputs,
                      values kind_of_values, std::mt19937& random);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

std::vector<float> random_floats(std::size_t count, float magnitude, std::mt19937& random);

}  // namespace troupe::test
