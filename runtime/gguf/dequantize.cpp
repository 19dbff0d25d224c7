#include <cstring>
#include <stdexcept>

#include "kernels/half.hpp"
#include "runtime/gguf/blocks.hpp"

namespace troupe::gguf {
namespace {

template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

float f32_element(const std::byte* in) { return load<float>(in); }
float f16_element(const std::byte* in) { return kernels::f16_to_f32(load<std::uint16_t>(in)); }
float bf16_element(const std::byte* in) { return kernels::bf16_to_f32(load<std::uint16_t>(in)); }

template <class Element>
void dequantize_elements(std::size_t bytes, const std::byte* source, std::size_t count, float* out,
                         Element element) {
  for (std::size_t i = 0; i < count; ++i) out[i] = element(source + i * bytes);
}

void dequantize_blocks(tensor_type type, const std::byte* source, std::size_t count, float* out) {
  const std::size_t elements = block_elements(type);
  const bool minimum = has_minimum(type);
  block_group groups[8];
  for (std::size_t start = 0; start < count; start += elements, source += block_bytes(type)) {
    decode_block(type, source, groups);
    for (std::size_t i = 0; i < elements; ++i) {
      const block_group& group = groups[i / 32];
      const float product = group.scales[i % 32 / 16] * static_cast<float>(group.codes[i % 32]);
      out[start + i] = minimum ? product + group.minimum : product;
    }
  }
}

}  // namespace

void dequantize(tensor_type type, const std::byte* source, std::size_t count, float* out) {
  switch (type) {
    case tensor_type::f32:
      return dequantize_elements(4, source, count, out, f32_element);
    case tensor_type::f16:
      return dequantize_elements(2, source, count, out, f16_element);
    case tensor_type::bf16:
      return dequantize_elements(2, source, count, out, bf16_element);
    case tensor_type::q4_0:
    case tensor_type::q4_1:
    case tensor_type::q5_0:
    case tensor_type::q5_1:
    case tensor_type::q8_0:
    case tensor_type::q4_k:
    case tensor_type::q5_k:
    case tensor_type::q6_k:
      return dequantize_blocks(type, source, count, out);
  }
  throw std::invalid_argument("dequantize: a tensor type that is not served");
}

}  // namespace troupe::gguf
