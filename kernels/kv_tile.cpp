#include "kernels/kv_tile.hpp"

#include <cstring>
#include <initializer_list>

namespace troupe::kernels {
namespace {

// `count` elements of `bytes` each, `stride` bytes apart on both sides.
void copy_strided(const std::byte* from, std::byte* to, std::int32_t count, std::size_t bytes,
                  std::size_t stride) {
  for (std::int32_t i = 0; i < count; ++i) std::memcpy(to + i * stride, from + i * stride, bytes);
}

void copy_f16(std::int32_t head_dim, const std::byte* from, std::size_t from_place, std::byte* to,
              std::size_t to_place) {
  constexpr std::size_t half = sizeof(std::uint16_t);
  const std::size_t row = static_cast<std::size_t>(head_dim) * half;
  const std::size_t values = row * tile_tokens;
  copy_strided(from + from_place * half, to + to_place * half, head_dim, half, tile_tokens * half);
  std::memcpy(to + values + to_place * row, from + values + from_place * row, row);
}

void copy_int8(std::int32_t head_dim, const std::byte* from, std::size_t from_place, std::byte* to,
               std::size_t to_place) {
  const auto value_code = [head_dim](std::size_t place) {
    return value_codes_offset(head_dim) + place / 4 * static_cast<std::size_t>(head_dim) * 4 + place % 4;
  };
  copy_strided(from + from_place * 4, to + to_place * 4, head_dim / 4, 4, tile_tokens * 4);
  copy_strided(from + value_code(from_place), to + value_code(to_place), head_dim, 1, 4);
  for (const std::size_t scales : {key_scales_offset(head_dim), value_scales_offset(head_dim)}) {
    std::memcpy(to + scales + to_place * sizeof(float), from + scales + from_place * sizeof(float),
                sizeof(float));
  }
}

}  // namespace

void copy_token(kv_dtype dtype, std::int32_t head_dim, const std::byte* from, std::int32_t from_place,
                std::byte* to, std::int32_t to_place) {
  const auto copy = dtype == kv_dtype::int8 ? copy_int8 : copy_f16;
  copy(head_dim, from, static_cast<std::size_t>(from_place), to, static_cast<std::size_t>(to_place));
}

}  // namespace troupe::kernels
