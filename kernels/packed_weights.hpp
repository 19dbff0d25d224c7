// Weight matrices repacked for the dot-product kernels: panels of 16 outputs, read once from front to back.
//
// A panel of a quantised kind holds, for G groups of 32 inputs:
//   codes   [G][32/4][16 outputs][4 inputs], one byte each; u4_min: two such rows of 64 bytes share one, low
//   nibble first scales  [G][16] f16            (s8_half: [G][2][16]) minima  [G][16] f16            (kinds
//   with _min)
// A panel of a float kind holds [inputs][16] values. Panels start at multiples of 64 bytes; outputs beyond
// the matrix are zero.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

inline constexpr std::int32_t panel_outputs = 16;
inline constexpr std::int32_t group_inputs = 32;

enum class weight_kind : std::int32_t {
  u4_min,   // scale * code + minimum, code 0..15
  s8,       // scale * code, code -128..127 (stored + 128)
  s8_min,   // scale * code + minimum
  s8_half,  // scale * code, one scale for 16 inputs
  f16,
  bf16,
  f32,
};

// A view; the memory belongs to whoever packed it. Plain data, so that files compiled for a wider instruction
// set share no inline function with the rest of the program.
struct packed_matrix {
  weight_kind kind;
  std::int32_t outputs;
  std::int32_t inputs;  // quantised kinds: a multiple of 32
  std::int32_t panels;  // outputs / 16, rounded up
  std::size_t panel_bytes;
  std::size_t scale_offset;  // within a panel
  std::size_t min_offset;
  const std::byte* data;
};

bool is_quantized(weight_kind kind);

// The layout of an `outputs x inputs` matrix with data == nullptr; its size is panels * panel_bytes.
packed_matrix describe_packed(weight_kind kind, std::int32_t outputs, std::int32_t inputs);

// 32 weights of one output: codes are 0..15 for u4_min and -128..127 otherwise; scales and minimum are f16
// bits.
struct weight_group {
  std::int16_t codes[group_inputs];
  std::uint16_t scales[2];  // both used by s8_half, else the first
  std::uint16_t minimum;
};

// Writes group `group` of output `output` into `data`, the memory of a matrix laid out as `layout`.
void pack_group(const packed_matrix& layout, std::byte* data, std::int32_t output, std::int32_t group,
                const weight_group& weights);

// Writes one output of a float kind; `values` holds `inputs` elements of that kind, little endian.
void pack_row(const packed_matrix& layout, std::byte* data, std::int32_t output, const std::byte* values);

}  // namespace troupe::kernels
