#include "kernels/cuda/elementwise/rotate_and_store.hpp"

#include <cmath>

#include "runtime/executor_cuda/kernel_checks/rotation_step.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using checks::rotation_step;
using kernels::cuda::kv_element;
using kernels::cuda::kv_part;
using kernels::cuda::paged_kv;
using kernels::cuda::rope_pairs;

constexpr int layers = 2;
constexpr int blocks = 3;

template <class T>
class rotate_and_store : public test::cuda_kernels {
 protected:
  static rotation_step::outcome run(rotation_step& rows) { return rows.run<T>(); }
  static void expect_right(rotation_step& rows) {
    checks::comparison compared;
    rows.compare<T>(rows.run<T>(), compared);
    EXPECT_TRUE(compared.passed()) << compared.difference() << " apart, " << compared.bound() << " allowed";
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
        rotation_step rows({.heads = 3,
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
  rotation_step rows({.biased = true, .normed = true, .kv = kv_element::int8}, {1, 2, 3, 4, 40}, random);
  const auto together = this->run(rows);
  rotation_step alone = rows;
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
  rotation_step rows({.kv = kv_element::fp8}, {0}, random);
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
