#include "kernels/reference/reference_kernels.hpp"

#include <cmath>

#include "kernels/reference/exponential.hpp"
#include "kernels/reference/reference_attention.hpp"
#include "kernels/reference/reference_attention_int8.hpp"
#include "kernels/reference/reference_matmul.hpp"

namespace troupe::kernels {
namespace {

std::int32_t to_code(float scaled) {
  scaled = scaled > -127.0F ? scaled : -127.0F;
  scaled = scaled < 127.0F ? scaled : 127.0F;
  return static_cast<std::int32_t>(std::nearbyint(scaled));
}

void quantize_row(const float* values, std::int32_t count, quantized_group* out) {
  for (std::int32_t g = 0; g < count / group_inputs; ++g) {
    const float* x = values + g * group_inputs;
    quantized_group& group = out[g * row_block];
    float amax = 0;
    for (std::int32_t i = 0; i < group_inputs; ++i) amax = std::fabs(x[i]) > amax ? std::fabs(x[i]) : amax;
    const bool zero = amax < 1e-30F;
    const float inverse = zero ? 0.0F : 127.0F / amax;
    std::int32_t halves[2] = {};
    for (std::int32_t i = 0; i < group_inputs; ++i) {
      const std::int32_t code = to_code(x[i] * inverse);
      group.codes[i] = static_cast<std::int8_t>(code);
      halves[i / 16] += code;
    }
    group.scale = zero ? 0.0F : amax * (1.0F / 127.0F);
    group.sum = group.scale * static_cast<float>(halves[0] + halves[1]);
    group.half_offsets[0] = -128 * halves[0];
    group.half_offsets[1] = -128 * halves[1];
    group.offset = -128 * (halves[0] + halves[1]);
  }
}

void rms_norm(const float* values, const float* weight, std::int32_t count, float epsilon, float* out) {
  float lanes[16] = {};
  for (std::int32_t i = 0; i < count; ++i) lanes[i % 16] = std::fma(values[i], values[i], lanes[i % 16]);
  const float mean = reference::fold_sum(lanes) / static_cast<float>(count);
  const float factor = 1.0F / std::sqrt(mean + epsilon);
  for (std::int32_t i = 0; i < count; ++i) out[i] = values[i] * factor * weight[i];
}

void silu_multiply(const float* gate, const float* up, std::int32_t count, float* out) {
  for (std::int32_t i = 0; i < count; ++i) {
    out[i] = gate[i] / (1.0F + reference::exponential(-gate[i])) * up[i];
  }
}

void rotate(float* head, const float* cosines, const float* sines, std::int32_t pairs, rotation layout) {
  for (std::int32_t i = 0; i < pairs; ++i) {
    float& a = layout == rotation::halves ? head[i] : head[2 * i];
    float& b = layout == rotation::halves ? head[i + pairs] : head[2 * i + 1];
    const float turned = std::fma(-b, sines[i], a * cosines[i]);
    b = std::fma(a, sines[i], b * cosines[i]);
    a = turned;
  }
}

std::int32_t arg_max(const float* values, std::int32_t count) {
  std::int32_t best = 0;
  float largest = -INFINITY;
  for (std::int32_t i = 0; i < count; ++i) {
    if (values[i] > largest) {
      largest = values[i];
      best = i;
    }
  }
  return best;
}

}  // namespace

const kernel_table reference_kernels{
    .name = "reference",
    .queries_at_once = max_attend_queries,
    .matmul = reference::matmul,
    .quantize_row = quantize_row,
    .rms_norm = rms_norm,
    .silu_multiply = silu_multiply,
    .rotate = rotate,
    .f16_kv = {reference::store_kv, reference::attend},
    .int8_kv = {reference::store_kv_int8, reference::attend_int8},
    .merge = reference::merge,
    .finish = reference::finish,
    .arg_max = arg_max,
};

}  // namespace troupe::kernels
