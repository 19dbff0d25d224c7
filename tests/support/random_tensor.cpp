#include <bit>
#include <random>
#include <stdexcept>

#include "kernels/half.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

// Only the engine's raw output is used: the distributions of the standard library differ between
// implementations.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(engine_() >> 40U) * 0x1p-24F;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(engine_() >> 56U); }
  std::string bytes(std::size_t count) {
    std::string out(count, '\0');
    for (char& each : out) each = static_cast<char>(byte());
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

std::string raw_half(float value) { return raw(kernels::f32_to_f16(value)); }
std::string raw_bfloat16(float value) {
  return raw(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U));
}

// A block whose values cover about +-magnitude, with a scale that differs from block to block.
std::string random_block(gguf::tensor_type type, float magnitude, random_source& random) {
  using enum gguf::tensor_type;
  const float reach = magnitude * random.uniform(0.5F, 1.0F);
  switch (type) {
    case f32:
      return raw(random.uniform(-magnitude, magnitude));
    case f16:
      return raw_half(random.uniform(-magnitude, magnitude));
    case bf16:
      return raw_bfloat16(random.uniform(-magnitude, magnitude));
    case q4_0:
      return raw_half(reach / 8.0F) + random.bytes(16);
    case q4_1:
      return raw_half(reach / 7.5F) + raw_half(-reach) + random.bytes(16);
    case q5_0:
      return raw_half(reach / 16.0F) + random.bytes(4 + 16);
    case q5_1:
      return raw_half(reach / 15.5F) + raw_half(-reach) + random.bytes(4 + 16);
    case q8_0:
      return raw_half(reach / 127.0F) + random.bytes(32);
    // Six-bit scales and minima average half of 63: quants of 0..15 and 0..31 centred on their middle.
    case q4_k:
      return raw_half(reach / 7.5F / 32.0F) + raw_half(reach / 32.0F) + random.bytes(12 + 128);
    case q5_k:
      return raw_half(reach / 15.5F / 32.0F) + raw_half(reach / 32.0F) + random.bytes(12 + 32 + 128);
    case q6_k:
      return random.bytes(128 + 64 + 16) + raw_half(reach / 32.0F / 64.0F);
  }
  throw std::invalid_argument("random_tensor: a type that is not served");
}

}  // namespace

std::string random_tensor(gguf::tensor_type type, std::uint64_t elements, float magnitude,
                          std::uint64_t seed) {
  random_source random(seed);
  std::string out;
  out.reserve(elements / gguf::block_elements(type) * gguf::block_bytes(type));
  for (std::uint64_t i = 0; i < elements; i += gguf::block_elements(type))
    out += random_block(type, magnitude, random);
  return out;
}

}  // namespace troupe::test
