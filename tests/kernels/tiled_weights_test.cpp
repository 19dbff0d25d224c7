#include "kernels/tiled_weights.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

namespace troupe::kernels {
namespace {

// Reads a packed matrix as the header describes it, lane by lane.
class reader {
 public:
  reader(const tiled_matrix& layout, const std::vector<std::byte>& data) : layout_(layout), data_(data) {}

  int code(int output, int input) const {
    const int half = input % 32 / 16;
    const int lane = output % 8 * 4 + input % 16 / 4;
    const int row = output % 16 / 8;
    const int group = input % 64 / 32;
    if (layout_.kind == weight_kind::u4_min) {
      const std::uint32_t word = word_at(output, input, static_cast<std::size_t>(lane * 4 + group * 2 + row));
      const int pair = half * 2 + input % 4 / 2;
      return static_cast<int>(word >> (4 * (pair + 4 * (input % 2))) & 15U);
    }
    const std::uint32_t word =
        word_at(output, input, static_cast<std::size_t>(group * 128 + lane * 4 + row * 2 + half));
    return static_cast<int>(word >> (8 * (input % 4)) & 255U) - 128;
  }

  // The scale, or the second of the two numbers of a group.
  std::uint16_t scale(int output, int input, bool second) const {
    const int place = (output % 8 * 2 + input % 64 / 32) * 2 + output % 16 / 8;
    const int index = layout_.kind == weight_kind::s8 ? place : place * 2 + (second ? 1 : 0);
    const std::size_t first = unit_code_bytes(layout_.kind) / 2;
    std::uint16_t bits = 0;
    std::memcpy(&bits, unit(output, input) + (first + static_cast<std::size_t>(index)) * 2, 2);
    return bits;
  }

 private:
  const std::byte* unit(int output, int input) const {
    return data_.data() +
           static_cast<std::size_t>(output / 16 * layout_.units + input / 64) * unit_bytes(layout_.kind);
  }
  std::uint32_t word_at(int output, int input, std::size_t index) const {
    std::uint32_t word = 0;
    std::memcpy(&word, unit(output, input) + index * 4, 4);
    return word;
  }

  const tiled_matrix& layout_;
  const std::vector<std::byte>& data_;
};

weight_group random_group(weight_kind kind, std::mt19937& random) {
  weight_group weights{};
  for (std::int16_t& code : weights.codes) {
    const auto byte = static_cast<int>(random() % 256);
    code = static_cast<std::int16_t>(kind == weight_kind::u4_min ? byte % 16 : byte - 128);
  }
  for (std::uint16_t& scale : weights.scales) scale = static_cast<std::uint16_t>(random());
  weights.minimum = static_cast<std::uint16_t>(random());
  return weights;
}

TEST(tiled_weights, hold_every_code_and_scale_where_a_lane_looks_for_it) {
  std::mt19937 random(51);
  for (const weight_kind kind :
       {weight_kind::u4_min, weight_kind::s8, weight_kind::s8_min, weight_kind::s8_half}) {
    const tiled_matrix layout = describe_tiled(kind, 21, 160);
    std::vector<std::byte> data(tiled_bytes(layout));
    std::vector<weight_group> groups;
    for (int output = 0; output < 21; ++output) {
      for (int group = 0; group < 5; ++group) {
        groups.push_back(random_group(kind, random));
        pack_tiled_group(layout, data.data(), output, group, groups.back());
      }
    }
    const reader packed(layout, data);
    for (int output = 0; output < 21; ++output) {
      for (int input = 0; input < 160; ++input) {
        const weight_group& weights = groups[static_cast<std::size_t>(output * 5 + input / 32)];
        ASSERT_EQ(packed.code(output, input), weights.codes[input % 32]) << output << " " << input;
        ASSERT_EQ(packed.scale(output, input, false), weights.scales[0]) << output << " " << input;
        if (kind == weight_kind::s8) continue;
        const std::uint16_t second = kind == weight_kind::s8_half ? weights.scales[1] : weights.minimum;
        ASSERT_EQ(packed.scale(output, input, true), second) << output << " " << input;
      }
    }
  }
}

TEST(tiled_weights, have_scale_zero_beyond_the_matrix) {
  const tiled_matrix layout = describe_tiled(weight_kind::s8_min, 3, 32);
  EXPECT_EQ(layout.tiles, 1);
  EXPECT_EQ(layout.units, 1);
  std::vector<std::byte> data(tiled_bytes(layout));
  std::mt19937 random(52);
  for (int output = 0; output < 3; ++output)
    pack_tiled_group(layout, data.data(), output, 0, random_group(layout.kind, random));
  const reader packed(layout, data);
  for (const auto& [output, input] : std::array<std::pair<int, int>, 3>{{{3, 0}, {0, 32}, {15, 63}}}) {
    EXPECT_EQ(packed.scale(output, input, false), 0);
    EXPECT_EQ(packed.scale(output, input, true), 0);
  }
}

}  // namespace
}  // namespace troupe::kernels
