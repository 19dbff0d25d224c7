// What the products of few rows make of the sums of an output of a row, or of two that belong together.
#pragma once
#include <type_traits>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/products/few_row_product.hpp"

namespace troupe::kernels::cuda {

template <class T>
__device__ __forceinline__ float rounded_to(float value) {
  return to_float(from_float<T>(value));
}

// Which outputs belong together: none; a gate and its up; two elements of a head that are rotated together.
enum class output_group : std::int32_t { apart, gated, rotated };

// Calls `function` with the group of what is to become of the sums as a constant.
template <class Function>
void with_output_group(few_row_output kind, Function&& function) {
  using group = output_group;
  if (kind == few_row_output::gated) return function(std::integral_constant<group, group::gated>{});
  if (kind == few_row_output::rotated) return function(std::integral_constant<group, group::rotated>{});
  function(std::integral_constant<group, group::apart>{});
}

// Two outputs that one thread stores: where they are apart neighbours, of which the second need not be there.
template <output_group group>
struct output_pairs {
  static __device__ __forceinline__ int count(const few_row_arguments& a) { return (a.outputs + 1) / 2; }
  static __device__ __forceinline__ bool interleaves(const few_row_arguments& a) {
    return group == output_group::rotated && a.rotation.pairs == rope_pairs::interleaved;
  }
  static __device__ __forceinline__ int first(const few_row_arguments& a, int pair) {
    if constexpr (group == output_group::gated) return pair;
    if (group != output_group::rotated || interleaves(a)) return 2 * pair;
    const int half = a.rotation.kv.head_dim / 2;
    return pair / half * 2 * half + pair % half;
  }
  static __device__ __forceinline__ int second(const few_row_arguments& a, int first) {
    if constexpr (group == output_group::gated) return first + a.outputs / 2;
    return first + (group != output_group::rotated || interleaves(a) ? 1 : a.rotation.kv.head_dim / 2);
  }
};

// What is to be known for a row's pair before its sums are there: what two outputs are added to, or what a
// pair of elements of a head is rotated by and where the row is stored.
struct pair_ahead {
  float first = 0.0F;
  float second = 0.0F;
  std::int32_t slot = -1;
};

__device__ __forceinline__ std::size_t place_of_output(const few_row_arguments& a, int row, int output) {
  return static_cast<std::size_t>(row) * a.outputs + output;
}

__device__ __forceinline__ float load_addend(const few_row_arguments& a, int row, int output) {
  if (a.kind != few_row_output::add_to_f32 || row >= a.rows || output >= a.outputs) return 0.0F;
  return static_cast<const float*>(a.output)[place_of_output(a, row, output)];
}

// Loads nothing where there is no such row or pair.
template <output_group group>
__device__ __forceinline__ pair_ahead load_ahead(const few_row_arguments& a, int row, int pair) {
  pair_ahead ahead;
  if (row >= a.rows || pair >= output_pairs<group>::count(a)) return ahead;
  if constexpr (group == output_group::rotated) {
    const rotate_and_store_arguments& r = a.rotation;
    const int half = r.kv.head_dim / 2;
    ahead.first = 1.0F;
    if (pair / half < r.num_heads + r.kv.num_kv_heads) {
      ahead.first = r.angles[row * r.rope_dim + 2 * (pair % half)];
      ahead.second = r.angles[row * r.rope_dim + 2 * (pair % half) + 1];
    }
    ahead.slot = r.slots[row];
  } else if constexpr (group == output_group::apart) {
    ahead.first = load_addend(a, row, 2 * pair);
    ahead.second = load_addend(a, row, 2 * pair + 1);
  }
  return ahead;
}

template <class T>
__device__ __forceinline__ void store_output(const few_row_arguments& a, int row, int output, float sum,
                                             float addend) {
  if (row >= a.rows || output >= a.outputs) return;
  if (a.kind == few_row_output::rounded) {
    static_cast<T*>(a.output)[place_of_output(a, row, output)] = from_float<T>(sum);
  } else {
    static_cast<float*>(a.output)[place_of_output(a, row, output)] = addend + sum;
  }
}

template <class T>
__device__ __forceinline__ void store_gated(const few_row_arguments& a, int row, int pair, float gate,
                                            float up) {
  static_cast<T*>(a.output)[static_cast<std::size_t>(row) * (a.outputs / 2) + pair] =
      from_float<T>(gated(rounded_to<T>(gate), rounded_to<T>(up)));
}

template <class T>
__device__ __forceinline__ void store_rotated(const few_row_arguments& a, int row, int pair, float x, float y,
                                              const pair_ahead& turn) {
  const rotate_and_store_arguments& r = a.rotation;
  const int first = output_pairs<output_group::rotated>::first(a, pair);
  const int second = output_pairs<output_group::rotated>::second(a, first);
  x = rounded_to<T>(x);
  y = rounded_to<T>(y);
  if (r.bias != nullptr) {
    x += r.bias[first];
    y += r.bias[second];
  }
  const int head = first / r.kv.head_dim;
  const bool is_query = head < r.num_heads;
  const bool is_value = head >= r.num_heads + r.kv.num_kv_heads;
  if (!is_value) rotate_pair(x, y, turn.first, turn.second);
  T* to = static_cast<T*>(a.output) + place_of_output(a, row, head * r.kv.head_dim);
  if (!is_query) {
    if (turn.slot < 0) return;
    to = static_cast<T*>(r.kv.data) +
         r.kv.element_index(r.layer, turn.slot / r.kv.block_size, is_value ? kv_part::value : kv_part::key,
                            (head - r.num_heads) % r.kv.num_kv_heads, turn.slot % r.kv.block_size);
    x = kv_value<T>(x);
    y = kv_value<T>(y);
  }
  to[first % r.kv.head_dim] = from_float<T>(x);
  to[second % r.kv.head_dim] = from_float<T>(y);
}

// Stores nothing where there is no such row or pair.
template <class T, output_group group>
__device__ __forceinline__ void store_pair(const few_row_arguments& a, int row, int pair, float first,
                                           float second, const pair_ahead& ahead) {
  if (row >= a.rows || pair >= output_pairs<group>::count(a)) return;
  if constexpr (group == output_group::gated) {
    store_gated<T>(a, row, pair, first, second);
  } else if constexpr (group == output_group::rotated) {
    store_rotated<T>(a, row, pair, first, second, ahead);
  } else {
    store_output<T>(a, row, 2 * pair, first, ahead.first);
    store_output<T>(a, row, 2 * pair + 1, second, ahead.second);
  }
}

}  // namespace troupe::kernels::cuda
