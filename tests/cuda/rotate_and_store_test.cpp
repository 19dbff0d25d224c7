#include "kernels/cuda/rotate_and_store.hpp"

#include <cuda_fp8.h>

#include <cmath>

#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::kv_element;
using kernels::cuda::kv_part;
using kernels::cuda::paged_kv;
using kernels::cuda::rope_pairs;
using kernels::cuda::rotate_and_store_arguments;

struct shape {
  int heads = 3;
  int kv_heads = 1;
  int head_dim = 64;
  int rope_dim = 64;
  rope_pairs pairs = rope_pairs::halves;
  bool biased = false;
  bool normed = false;
  kv_element kv = kv_element::bf16;
  int block_size = 16;
  int width() const { return (heads + 2 * kv_heads) * head_dim; }
};

// A step's rows with random weights, and what they must become.
struct rows_of_a_step {
  rows_of_a_step(const shape& of, std::vector<std::int32_t> slots_of_rows, std::mt19937& random)
      : s(of), slots(std::move(slots_of_rows)) {
    qkv = test::normal_floats(slots.size() * s.width(), 1, random);
    bias = test::normal_floats(s.width(), 1, random);
    query_norm = test::normal_floats(s.head_dim, 1, random);
    key_norm = test::normal_floats(s.head_dim, 1, random);
    for (std::size_t i = 0; i < slots.size() * s.rope_dim / 2; i++) {
      const double angle = static_cast<double>(random() % 100000) / 1000;
      angles.push_back(static_cast<float>(std::cos(angle)));
      angles.push_back(static_cast<float>(std::sin(angle)));
    }
  }

  // A head of a row after bias, norm and rotation.
  std::vector<double> head(int row, int number) const {
    std::vector<double> x(s.head_dim);
    const int offset = number * s.head_dim;
    for (int i = 0; i < s.head_dim; i++) {
      x[i] =
          qkv[static_cast<std::size_t>(row * s.width() + offset + i)] + (s.biased ? bias[offset + i] : 0.0F);
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

  shape s;
  std::vector<std::int32_t> slots;
  std::vector<float> qkv, bias, query_norm, key_norm, angles;
};

constexpr int layers = 2;
constexpr int blocks = 3;

template <class T>
class rotate_and_store : public test::cuda_kernels {
 protected:
  struct outcome {
    std::vector<float> qkv;
    std::vector<float>
        kv;  // as stored, int8 times its scale, in the order of the memory; NaN where not written
  };

  static float value_of(const paged_kv& kv, const unsigned char* data, const std::vector<float>& scales,
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

  outcome run(rows_of_a_step& rows) {
    const shape& s = rows.s;
    const auto stride = static_cast<std::size_t>(s.width() + 8);
    std::vector<float> spread(rows.slots.size() * stride, 0.0F);
    for (std::size_t i = 0; i < rows.qkv.size(); i++) {
      float& value = rows.qkv[i];
      value = static_cast<float>(T(value));
      spread[i / s.width() * stride + i % s.width()] = value;
    }
    paged_kv kv{.element = s.kv,
                .num_layers = layers,
                .num_blocks = blocks,
                .num_kv_heads = s.kv_heads,
                .block_size = s.block_size,
                .head_dim = s.head_dim};
    const test::device_array<T> qkv(test::rounded<T>(spread));
    const test::device_array<float> bias(rows.bias), query_norm(rows.query_norm), key_norm(rows.key_norm),
        angles(rows.angles);
    const test::device_array<std::int32_t> slots(rows.slots);
    const test::device_array<unsigned char> data(kv.data_bytes());
    const test::device_array<float> scales(kv.scale_bytes() / sizeof(float));
    kv.data = data.data();
    kv.scales = scales.data();
    kernels::cuda::rotate_and_store({.qkv = qkv.data(),
                                     .qkv_stride = static_cast<std::int64_t>(stride),
                                     .kv = kv,
                                     .bias = s.biased ? bias.data() : nullptr,
                                     .query_norm = s.normed ? query_norm.data() : nullptr,
                                     .key_norm = s.normed ? key_norm.data() : nullptr,
                                     .epsilon = 1e-6F,
                                     .angles = angles.data(),
                                     .slots = slots.data(),
                                     .rows = static_cast<std::int32_t>(rows.slots.size()),
                                     .num_heads = s.heads,
                                     .rope_dim = s.rope_dim,
                                     .pairs = s.pairs,
                                     .layer = 1,
                                     .type = test::type_of<T>},
                                    nullptr);
    outcome result;
    const auto changed = test::floats(qkv.read());
    for (std::size_t i = 0; i < rows.qkv.size(); i++) {
      result.qkv.push_back(changed[i / s.width() * stride + i % s.width()]);
    }
    const auto bytes = data.read();
    const auto read_scales = scales.read();
    for (std::size_t i = 0; i < kv.num_tokens() * s.head_dim; i++) {
      result.kv.push_back(value_of(kv, bytes.data(), read_scales, i));
    }
    return result;
  }

  // What storing may change: one rounding of the storage, or half a code of int8's largest.
  static double tolerance(const shape& s, const std::vector<double>& head, int i) {
    double largest = 0;
    for (const double value : head) largest = std::max(largest, std::abs(value));
    if (s.kv == kv_element::int8) return largest / 127 * 0.502;
    const double rounding = s.kv == kv_element::fp8 ? 1.0 / 16 : test::rounding_of<T>;
    return std::abs(head[i]) * rounding + (s.kv == kv_element::fp8 ? 1e-3 : 1e-5);
  }

  void expect_right(rows_of_a_step& rows) {
    const shape& s = rows.s;
    const outcome result = run(rows);
    const paged_kv kv{.element = s.kv,
                      .num_layers = layers,
                      .num_blocks = blocks,
                      .num_kv_heads = s.kv_heads,
                      .block_size = s.block_size,
                      .head_dim = s.head_dim};
    std::size_t written = 0;
    for (int row = 0; row < static_cast<int>(rows.slots.size()); row++) {
      for (int number = 0; number < s.heads + 2 * s.kv_heads; number++) {
        const auto expected = rows.head(row, number);
        const auto place = static_cast<std::size_t>(row * s.width() + number * s.head_dim);
        const int slot = rows.slots[row];
        for (int i = 0; i < s.head_dim; i++) {
          if (number < s.heads) {
            ASSERT_NEAR(result.qkv[place + i], expected[i],
                        std::abs(expected[i]) * test::rounding_of<T> + 1e-5);
            continue;
          }
          ASSERT_EQ(result.qkv[place + i], rows.qkv[place + i]) << "keys and values of the product stay";
          if (slot < 0) continue;
          const bool is_value = number >= s.heads + s.kv_heads;
          const auto stored =
              kv.element_index(1, slot / s.block_size, is_value ? kv_part::value : kv_part::key,
                               (number - s.heads) % s.kv_heads, slot % s.block_size);
          ASSERT_NEAR(result.kv[stored + i], expected[i], tolerance(s, expected, i))
              << "row " << row << " head " << number << " element " << i;
          written++;
        }
      }
    }
    std::size_t found = 0;
    for (const float value : result.kv) found += std::isnan(value) ? 0 : 1;
    // An int8 place that nobody wrote is -1 times NaN.
    EXPECT_EQ(found, written) << "nothing else is written";
  }
};

using element_types = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(rotate_and_store, element_types);

TYPED_TEST(rotate_and_store, rotates_queries_in_place_and_stores_keys_and_values) {
  std::mt19937 random(11);
  const kv_element same = std::is_same_v<TypeParam, __half> ? kv_element::fp16 : kv_element::bf16;
  for (const int head_dim : {16, 64, 80, 96, 128, 256}) {
    for (const rope_pairs pairs : {rope_pairs::halves, rope_pairs::interleaved}) {
      for (const kv_element kv : {same, kv_element::fp8, kv_element::int8}) {
        const bool odd = random() % 2 == 0;
        rows_of_a_step rows({.heads = 3,
                             .kv_heads = odd ? 2 : 1,
                             .head_dim = head_dim,
                             .rope_dim = odd ? head_dim : (head_dim / 2 + 15) / 16 * 16,
                             .pairs = pairs,
                             .biased = random() % 2 == 0,
                             .normed = random() % 2 == 0,
                             .kv = kv,
                             .block_size = odd ? 8 : 16},
                            {5, -1, 17, 0, 23}, random);
        SCOPED_TRACE(testing::Message()
                     << "head_dim " << head_dim << " of which rotated " << rows.s.rope_dim << ", pairs "
                     << static_cast<int>(pairs) << ", kv " << static_cast<int>(kv) << ", bias "
                     << rows.s.biased << ", norm " << rows.s.normed);
        this->expect_right(rows);
      }
    }
  }
}

TYPED_TEST(rotate_and_store, gives_a_row_the_same_bits_in_any_company) {
  std::mt19937 random(12);
  rows_of_a_step rows({.biased = true, .normed = true, .kv = kv_element::int8}, {1, 2, 3, 4, 40}, random);
  const auto together = this->run(rows);
  rows_of_a_step alone = rows;
  const int width = rows.s.width();
  alone.slots = {40};
  alone.qkv.assign(rows.qkv.begin() + 4 * width, rows.qkv.end());
  alone.angles.assign(rows.angles.begin() + 4 * rows.s.rope_dim, rows.angles.end());
  const auto single = this->run(alone);
  EXPECT_TRUE(std::equal(single.qkv.begin(), single.qkv.end(), together.qkv.begin() + 4 * width));
  const paged_kv kv{.num_layers = layers, .num_blocks = blocks, .num_kv_heads = 1, .head_dim = 64};
  for (const kv_part part : {kv_part::key, kv_part::value}) {
    const auto place = kv.element_index(1, 2, part, 0, 8);
    EXPECT_TRUE(
        std::equal(single.kv.begin() + place, single.kv.begin() + place + 64, together.kv.begin() + place));
  }
}

TYPED_TEST(rotate_and_store, saturates_fp8_and_keeps_a_head_of_zeros_in_int8) {
  std::mt19937 random(13);
  rows_of_a_step rows({.kv = kv_element::fp8}, {0}, random);
  for (float& value : rows.qkv) value *= 1000;
  const auto large = this->run(rows);
  const paged_kv kv{.num_layers = layers, .num_blocks = blocks, .num_kv_heads = 1, .head_dim = 64};
  const auto value = kv.element_index(1, 0, kv_part::value, 0, 0);
  for (int i = 0; i < 64; i++) {
    const float stored = rows.qkv[static_cast<std::size_t>(4 * 64 + i)];
    if (std::abs(stored) >= 448) {
      EXPECT_EQ(large.kv[value + i], std::copysign(448.0F, stored));
    }
  }
  rows.s.kv = kv_element::int8;
  std::fill(rows.qkv.begin(), rows.qkv.end(), 0.0F);
  const auto zeros = this->run(rows);
  for (int i = 0; i < 64; i++) EXPECT_EQ(zeros.kv[value + i], 0.0F);
}

}  // namespace
}  // namespace troupe
