#include "kernels/cuda/attention/paged_attention.hpp"

#include "runtime/executor_cuda/kernel_checks/attention_step.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;
using kernels::cuda::kv_element;
using test::attention_sequence;
using test::attention_shape;
using test::attention_step;
using test::attention_way;

class paged_attention : public test::cuda_kernels {
 protected:
  static void expect_right(const attention_step& step, attention_way way) {
    checks::comparison compared;
    step.compare(step.run(way), compared);
    EXPECT_TRUE(compared.passed()) << to_string(step.shape()) << ": " << compared.difference() << " apart, "
                                   << compared.bound() << " allowed";
  }
};

// Each type of queries with each KV memory that goes with it.
std::vector<attention_shape> all_types() {
  std::vector<attention_shape> shapes;
  for (const element_type type : {element_type::bf16, element_type::f16}) {
    const kv_element same = type == element_type::bf16 ? kv_element::bf16 : kv_element::fp16;
    for (const kv_element stored : {same, kv_element::fp8, kv_element::int8}) {
      shapes.push_back({.type = type, .stored = stored});
    }
  }
  return shapes;
}

TEST_F(paged_attention, decodes_contexts_of_any_length_in_all_types) {
  unsigned seed = 1;
  for (attention_shape shape : all_types()) {
    shape.kv_heads = 1;
    shape.group = 3;
    const attention_step step(
        shape, {{1, 1, 0}, {1, 63, 1}, {1, 64, 2}, {1, 65, 3}, {1, 256, 4}, {1, 257, 5}, {1, 600, 6}},
        ++seed);
    expect_right(step, attention_way::planned);
  }
}

TEST_F(paged_attention, computes_chunks_in_all_types) {
  unsigned seed = 10;
  for (attention_shape shape : all_types()) {
    shape.kv_heads = 1;
    const attention_step step(shape, {{34, 34, 0}, {33, 290, 1}}, ++seed);
    expect_right(step, attention_way::planned);
  }
}

TEST_F(paged_attention, computes_heads_of_any_size) {
  unsigned seed = 20;
  for (const std::int32_t head_dim : {16, 80, 96, 112, 128, 160, 192, 256}) {
    for (const kv_element stored : {kv_element::bf16, kv_element::int8}) {
      const attention_shape shape{.stored = stored, .head_dim = head_dim, .kv_heads = 1};
      const attention_step step(shape, {{1, 130, 0}, {5, 70, 1}}, ++seed);
      expect_right(step, attention_way::split);
      expect_right(step, attention_way::chunks);
    }
  }
}

TEST_F(paged_attention, computes_groups_of_any_size_over_blocks_of_any_size) {
  unsigned seed = 40;
  for (const std::int32_t group : {1, 4, 7, 16, 20}) {
    for (const std::int32_t block_size : {8, 64}) {
      const attention_shape shape{.kv_heads = 2, .group = group, .block_size = block_size};
      const attention_step step(shape, {{1, 90, 0}, {4, 66, 1}}, ++seed);
      expect_right(step, attention_way::planned);
    }
  }
}

// The rows of drafts, before and behind the borders of tiles and stretches.
TEST_F(paged_attention, verifies_rows_across_borders) {
  const attention_step step({.kv_heads = 1, .group = 3},
                            {{6, 66, 0}, {6, 196, 1}, {6, 260, 2}, {4, 450, 3}, {2, 513, 4}}, 50);
  expect_right(step, attention_way::split);
  expect_right(step, attention_way::chunks);
}

// Some of whose warps end in the last tile of a stretch.
TEST_F(paged_attention, computes_chunks_of_prompts_of_any_length) {
  const attention_step step({.kv_heads = 1, .group = 2}, {{40, 210, 0}, {40, 256, 1}, {40, 500, 2}}, 51);
  expect_right(step, attention_way::planned);
}

TEST_F(paged_attention, gives_a_row_the_same_bits_from_either_kernel) {
  unsigned seed = 60;
  for (attention_shape shape : all_types()) {
    shape.kv_heads = 1;
    const attention_step step(shape, {{7, 7, 0}, {9, 261, 1}, {2, 577, 2}, {1, 512, 3}}, ++seed);
    EXPECT_EQ(step.run(attention_way::split), step.run(attention_way::chunks)) << to_string(shape);
  }
  for (const std::int32_t head_dim : {80, 128, 256}) {
    const attention_step step({.head_dim = head_dim, .kv_heads = 1}, {{3, 322, 0}}, ++seed);
    EXPECT_EQ(step.run(attention_way::split), step.run(attention_way::chunks)) << head_dim;
  }
}

TEST_F(paged_attention, gives_a_row_the_same_bits_in_any_company) {
  const attention_shape shape{.group = 4};
  const attention_sequence mine{1, 300, 5};
  const attention_step alone(shape, {mine}, 70);
  const std::vector<float> expected = alone.run(attention_way::planned);
  // Beside others, and so in other blocks of the memory.
  const attention_step crowd(shape, {{40, 40, 0}, {1, 700, 1}, mine, {1, 2, 2}}, 70);
  EXPECT_EQ(crowd.rows_of(crowd.run(attention_way::planned), 2), expected);
  // As the last of several rows of its own sequence: verified, and as the end of a prefill.
  for (const std::int32_t rows : {3, 60}) {
    const attention_step more(shape, {{rows, mine.context, mine.number}}, 70);
    const std::vector<float> all = more.run(attention_way::planned);
    EXPECT_EQ(std::vector<float>(all.end() - static_cast<std::ptrdiff_t>(expected.size()), all.end()),
              expected)
        << rows;
  }
  // In blocks of another size.
  const attention_step elsewhere({.group = 4, .block_size = 64}, {mine}, 70);
  EXPECT_EQ(elsewhere.run(attention_way::planned), expected);
}

TEST_F(paged_attention, gives_the_same_bits_with_any_number_of_blocks) {
  const attention_step step({.kv_heads = 1}, {{1, 300, 0}, {1, 20, 1}, {1, 530, 2}, {70, 70, 3}}, 80);
  const std::vector<float> expected = step.run(attention_way::planned);
  for (const std::int32_t blocks : {1, 3, 40})
    EXPECT_EQ(step.run(attention_way::planned, blocks), expected) << blocks;
}

TEST_F(paged_attention, agrees_with_a_plain_loop_over_random_steps) {
  std::mt19937 random(90);
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % (most - least + 1U));
  };
  const auto types = all_types();
  for (int round = 0; round < 8; ++round) {
    const unsigned seed = static_cast<unsigned>(random());
    SCOPED_TRACE("seed " + std::to_string(seed));
    attention_shape shape = types[random() % types.size()];
    shape.head_dim = 16 * pick(1, 9);
    shape.kv_heads = pick(1, 2);
    shape.group = pick(1, 8);
    shape.block_size = 8 << pick(0, 3);
    std::vector<attention_sequence> sequences;
    for (int s = pick(1, 3); s > 0; --s) {
      const std::int32_t rows = pick(0, 3) == 0 ? pick(2, 40) : 1;
      sequences.push_back({rows, rows + pick(0, 200), static_cast<unsigned>(s)});
    }
    const attention_step step(shape, sequences, seed);
    expect_right(step, attention_way::planned);
  }
}

TEST_F(paged_attention, knows_what_it_has_no_kernel_for) {
  const kernels::cuda::paged_kv kv{.num_layers = 1, .num_blocks = 1, .num_kv_heads = 1, .head_dim = 64};
  EXPECT_TRUE(can_attend(kv, element_type::bf16));
  EXPECT_FALSE(can_attend(kv, element_type::f16));
  auto changed = kv;
  changed.element = kv_element::int8;
  EXPECT_TRUE(can_attend(changed, element_type::f16));
  for (const std::int32_t head_dim : {8, 72, 272}) {
    changed = kv;
    changed.head_dim = head_dim;
    EXPECT_FALSE(can_attend(changed, element_type::bf16)) << head_dim;
  }
  for (const std::int32_t block_size : {1, 4, 12, 24, 128}) {
    changed = kv;
    changed.block_size = block_size;
    EXPECT_FALSE(can_attend(changed, element_type::bf16)) << block_size;
  }
}

// A kernel counts slots, places of a layer in tokens, and its chunks of eight elements in 32 bits.
TEST_F(paged_attention, counts_no_further_than_its_numbers_go) {
  for (const std::int32_t head_dim : {16, 64, 128, 256}) {
    for (const std::int32_t kv_heads : {1, 2, 8, 32}) {
      for (const std::int32_t block_size : {8, 16, 64}) {
        kernels::cuda::paged_kv kv{.element = kv_element::int8,
                                   .num_layers = 100,
                                   .num_kv_heads = kv_heads,
                                   .block_size = block_size,
                                   .head_dim = head_dim};
        kv.num_blocks = most_kv_blocks(kv);
        EXPECT_TRUE(can_attend(kv, element_type::bf16));
        const std::int64_t slots = std::int64_t{kv.num_blocks} * block_size;
        EXPECT_LT(slots, std::int64_t{1} << 31);
        EXPECT_LE(2 * slots * kv_heads, std::int64_t{1} << 31);
        EXPECT_LT(2 * slots * kv_heads * head_dim / 8, std::int64_t{1} << 32);
        kv.num_blocks += 1;
        EXPECT_FALSE(can_attend(kv, element_type::bf16));
      }
    }
  }
}

}  // namespace
}  // namespace troupe
