#include "runtime/executor_cuda/kernel_checks/rotation_step.hpp"

#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>

#include "runtime/executor_cuda/kernel_checks/device_data.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::kv_element;
using kernels::cuda::kv_part;
using kernels::cuda::paged_kv;
using kernels::cuda::rope_pairs;

constexpr int layers_of_rotations = 2;
constexpr int blocks_of_rotations = 3;

paged_kv memory_of(const rotation_shape& s) {
  return {.element = s.kv,
          .num_layers = layers_of_rotations,
          .num_blocks = blocks_of_rotations,
          .num_kv_heads = s.kv_heads,
          .block_size = s.block_size,
          .head_dim = s.head_dim};
}

template <class T>
float stored_value(const paged_kv& kv, const unsigned char* data, const std::vector<float>& scales,
                   std::size_t i) {
  if (kv.element == kv_element::int8) {
    return static_cast<float>(static_cast<std::int8_t>(data[i])) *
           scales[i / static_cast<std::size_t>(kv.head_dim)];
  }
  if (kv.element == kv_element::fp8) {
    return static_cast<float>(*reinterpret_cast<const __nv_fp8_e4m3*>(data + i));
  }
  return static_cast<float>(reinterpret_cast<const T*>(data)[i]);
}

// What storing may change.
template <class T>
double storage_bound(const rotation_shape& s, const std::vector<double>& head, int i) {
  double largest = 0;
  for (const double value : head) largest = std::max(largest, std::abs(value));
  if (s.kv == kv_element::int8) return largest / 127 * 0.502;
  const double rounding = s.kv == kv_element::fp8 ? 1.0 / 16 : rounding_of<T>;
  return std::abs(head[i]) * rounding + (s.kv == kv_element::fp8 ? 1e-3 : 1e-5);
}

}  // namespace

rotation_step::rotation_step(const rotation_shape& of, std::vector<std::int32_t> slots_of_rows,
                             std::mt19937& random)
    : s(of), slots(std::move(slots_of_rows)) {
  qkv = normal_floats(slots.size() * s.width(), 1, random);
  bias = normal_floats(s.width(), 1, random);
  query_norm = normal_floats(s.head_dim, 1, random);
  key_norm = normal_floats(s.head_dim, 1, random);
  for (std::size_t i = 0; i < slots.size() * s.rope_dim / 2; i++) {
    const double angle = static_cast<double>(random() % 100000) / 1000;
    angles.push_back(static_cast<float>(std::cos(angle)));
    angles.push_back(static_cast<float>(std::sin(angle)));
  }
}

std::vector<double> rotation_step::head(int row, int number) const {
  std::vector<double> x(s.head_dim);
  const int offset = number * s.head_dim;
  for (int i = 0; i < s.head_dim; i++) {
    x[i] = qkv[static_cast<std::size_t>(row * s.width() + offset + i)] + (s.biased ? bias[offset + i] : 0.0F);
  }
  if (number >= s.heads + s.kv_heads) return x;
  if (s.normed) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const auto& weight = number < s.heads ? query_norm : key_norm;
    for (int i = 0; i < s.head_dim; i++) x[i] *= weight[i] / std::sqrt(squares / s.head_dim + 1e-6);
  }
  for (int i = 0; i < s.rope_dim / 2; i++) {
    double& a = x[s.pairs == rope_pairs::halves ? i : 2 * i];
    double& b = x[s.pairs == rope_pairs::halves ? i + s.rope_dim / 2 : 2 * i + 1];
    const double cosine = angles[static_cast<std::size_t>(row * s.rope_dim + 2 * i)];
    const double sine = angles[static_cast<std::size_t>(row * s.rope_dim + 2 * i + 1)];
    const double turned = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = turned;
  }
  return x;
}

template <class T>
rotation_step::outcome rotation_step::run() {
  const auto stride = static_cast<std::size_t>(s.width() + 8);
  std::vector<float> spread(slots.size() * stride, 0.0F);
  for (std::size_t i = 0; i < qkv.size(); i++) {
    float& value = qkv[i];
    value = static_cast<float>(T(value));
    spread[i / s.width() * stride + i % s.width()] = value;
  }
  paged_kv kv = memory_of(s);
  const device_data<T> device_qkv(rounded<T>(spread));
  const device_data<float> device_bias(bias), device_query_norm(query_norm), device_key_norm(key_norm);
  const device_data<float> device_angles(angles);
  const device_data<std::int32_t> device_slots(slots);
  const device_data<unsigned char> data(kv.data_bytes());
  const device_data<float> scales(kv.scale_bytes() / sizeof(float));
  kv.data = data.data();
  kv.scales = scales.data();
  kernels::cuda::rotate_and_store({.qkv = device_qkv.data(),
                                   .qkv_stride = static_cast<std::int64_t>(stride),
                                   .kv = kv,
                                   .bias = s.biased ? device_bias.data() : nullptr,
                                   .query_norm = s.normed ? device_query_norm.data() : nullptr,
                                   .key_norm = s.normed ? device_key_norm.data() : nullptr,
                                   .epsilon = 1e-6F,
                                   .angles = device_angles.data(),
                                   .slots = device_slots.data(),
                                   .rows = static_cast<std::int32_t>(slots.size()),
                                   .num_heads = s.heads,
                                   .rope_dim = s.rope_dim,
                                   .pairs = s.pairs,
                                   .layer = 1,
                                   .type = type_of<T>},
                                  nullptr);
  outcome result;
  const auto changed = floats(device_qkv.read());
  for (std::size_t i = 0; i < qkv.size(); i++) {
    result.qkv.push_back(changed[i / s.width() * stride + i % s.width()]);
  }
  const auto bytes = data.read();
  const auto read_scales = scales.read();
  for (std::size_t i = 0; i < kv.num_tokens() * s.head_dim; i++) {
    result.kv.push_back(stored_value<T>(kv, bytes.data(), read_scales, i));
  }
  return result;
}

template <class T>
void rotation_step::compare(const outcome& result, comparison& with) const {
  const paged_kv kv = memory_of(s);
  std::size_t written = 0;
  for (int row = 0; row < static_cast<int>(slots.size()); row++) {
    for (int number = 0; number < s.heads + 2 * s.kv_heads; number++) {
      const auto expected = head(row, number);
      const auto place = static_cast<std::size_t>(row * s.width() + number * s.head_dim);
      const int slot = slots[row];
      for (int i = 0; i < s.head_dim; i++) {
        if (number < s.heads) {
          with.add(result.qkv[place + i], expected[i], std::abs(expected[i]) * rounding_of<T> + 1e-5);
          continue;
        }
        with.add(result.qkv[place + i], qkv[place + i], 0);  // keys and values of the product stay
        if (slot < 0) continue;
        const bool is_value = number >= s.heads + s.kv_heads;
        const auto stored = kv.element_index(1, slot / s.block_size, is_value ? kv_part::value : kv_part::key,
                                             (number - s.heads) % s.kv_heads, slot % s.block_size);
        with.add(result.kv[stored + i], expected[i], storage_bound<T>(s, expected, i));
        written++;
      }
    }
  }
  std::size_t found = 0;
  for (const float value : result.kv) found += std::isnan(value) ? 0 : 1;
  // Nothing else is written. (An int8 place that nobody wrote is -1 times NaN.)
  with.add(static_cast<double>(found), static_cast<double>(written), 0);
}

template rotation_step::outcome rotation_step::run<__nv_bfloat16>();
template rotation_step::outcome rotation_step::run<__half>();
template void rotation_step::compare<__nv_bfloat16>(const outcome&, comparison&) const;
template void rotation_step::compare<__half>(const outcome&, comparison&) const;

}  // namespace troupe::checks
