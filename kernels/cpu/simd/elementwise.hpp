// Row kernels over V, a vector of 16 floats that the including file defines in an unnamed namespace: every
// function here then has internal linkage, and no code of a wider instruction set can stand in for another
// file's. See kernel_table for what each computes.
#pragma once
#include "kernels/kernel_table.hpp"

namespace troupe::kernels {
namespace {

template <class V>
inline typename V::type exponential(typename V::type x) {
  x = V::min(V::max(x, V::set(-87.0F)), V::set(88.0F));
  const auto n = V::round(V::mul(x, V::set(1.44269504088896341F)));
  auto r = V::fma(n, V::set(-0.693359375F), x);
  r = V::fma(n, V::set(2.12194440e-4F), r);
  auto p = V::set(1.9875691500e-4F);
  p = V::fma(p, r, V::set(1.3981999507e-3F));
  p = V::fma(p, r, V::set(8.3334519073e-3F));
  p = V::fma(p, r, V::set(4.1665795894e-2F));
  p = V::fma(p, r, V::set(1.6666665459e-1F));
  p = V::fma(p, r, V::set(5.0000001201e-1F));
  const auto y = V::add(V::fma(p, V::mul(r, r), r), V::set(1.0F));
  return V::mul(y, V::power_of_two(n));
}

template <class V>
void rms_norm(const float* values, const float* weight, std::int32_t count, float epsilon, float* out) {
  auto lanes = V::zero();
  const std::int32_t whole = count / 16 * 16;
  const std::int32_t rest = count - whole;
  for (std::int32_t i = 0; i < whole; i += 16) {
    const auto x = V::load(values + i);
    lanes = V::fma(x, x, lanes);
  }
  if (rest > 0) {
    const auto x = V::load_first(values + whole, rest);
    lanes = V::fma(x, x, lanes);
  }
  const float mean = V::fold_sum(lanes) / static_cast<float>(count);
  const auto factor = V::set(1.0F / __builtin_sqrtf(mean + epsilon));
  for (std::int32_t i = 0; i < whole; i += 16) {
    V::store(out + i, V::mul(V::mul(V::load(values + i), factor), V::load(weight + i)));
  }
  if (rest > 0) {
    const auto x = V::mul(V::load_first(values + whole, rest), factor);
    V::store_first(out + whole, V::mul(x, V::load_first(weight + whole, rest)), rest);
  }
}

template <class V>
void silu_multiply(const float* gate, const float* up, std::int32_t count, float* out) {
  const auto silu = [](typename V::type g, typename V::type u) {
    const auto denominator = V::add(V::set(1.0F), exponential<V>(V::negate(g)));
    return V::mul(V::div(g, denominator), u);
  };
  const std::int32_t whole = count / 16 * 16;
  for (std::int32_t i = 0; i < whole; i += 16) V::store(out + i, silu(V::load(gate + i), V::load(up + i)));
  const std::int32_t rest = count - whole;
  if (rest > 0) {
    const auto value = silu(V::load_first(gate + whole, rest), V::load_first(up + whole, rest));
    V::store_first(out + whole, value, rest);
  }
}

template <class V>
void quantize_row(const float* values, std::int32_t count, quantized_group* out) {
  for (std::int32_t g = 0; g < count / group_inputs; ++g) {
    const auto low = V::load(values + g * group_inputs);
    const auto high = V::load(values + g * group_inputs + 16);
    const float amax = V::fold_max(V::max(V::absolute(high), V::max(V::absolute(low), V::zero())));
    const bool zero = amax < 1e-30F;
    const auto inverse = V::set(zero ? 0.0F : 127.0F / amax);
    quantized_group& group = out[g * row_block];
    std::int32_t halves[2];
    V::store_codes(group.codes, V::mul(low, inverse), V::mul(high, inverse), halves);
    group.scale = zero ? 0.0F : amax * (1.0F / 127.0F);
    group.sum = group.scale * static_cast<float>(halves[0] + halves[1]);
    group.half_offsets[0] = -128 * halves[0];
    group.half_offsets[1] = -128 * halves[1];
    group.offset = -128 * (halves[0] + halves[1]);
  }
}

// Plain loops that the compiler turns into vector code; V only keeps the linkage internal.
template <class V>
void rotate(float* head, const float* cosines, const float* sines, std::int32_t pairs, rotation layout) {
  const std::int32_t step = layout == rotation::halves ? 1 : 2;
  const std::int32_t partner = layout == rotation::halves ? pairs : 1;
  for (std::int32_t i = 0; i < pairs; ++i) {
    const float a = head[step * i];
    const float b = head[step * i + partner];
    head[step * i] = __builtin_fmaf(-b, sines[i], a * cosines[i]);
    head[step * i + partner] = __builtin_fmaf(a, sines[i], b * cosines[i]);
  }
}

template <class V>
std::int32_t arg_max(const float* values, std::int32_t count) {
  constexpr std::int32_t step = 64;
  std::int32_t best = 0;
  float largest = -__builtin_inff();
  std::int32_t i = 0;
  // Most stretches hold nothing larger than what was seen: one comparison each; the others are searched in
  // order.
  for (; i + step <= count; i += step) {
    auto top = V::max(V::load(values + i), V::set(largest));
    for (std::int32_t j = 16; j < step; j += 16) top = V::max(V::load(values + i + j), top);
    if (!(V::fold_max(top) > largest)) continue;
    for (std::int32_t j = i; j < i + step; ++j) {
      if (values[j] > largest) {
        largest = values[j];
        best = j;
      }
    }
  }
  for (; i < count; ++i) {
    if (values[i] > largest) {
      largest = values[i];
      best = i;
    }
  }
  return best;
}

}  // namespace
}  // namespace troupe::kernels
