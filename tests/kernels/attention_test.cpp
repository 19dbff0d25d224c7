#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/half.hpp"
#include "kernels/reference/reference_kernels.hpp"
#include "tests/kernels/kernels_fixture.hpp"

namespace troupe {
namespace {

using kernels::stretch_tokens;
using kernels::tile_tokens;

struct tiles {
  std::int32_t head_dim;
  std::vector<std::uint16_t> memory;
  std::vector<const std::uint16_t*> pointers;
};

tiles make_tiles(const kernels::kernel_table& table, std::int32_t head_dim, std::int32_t tokens,
                 const std::vector<float>& keys, const std::vector<float>& values) {
  tiles made{head_dim, {}, {}};
  const auto tile_size = static_cast<std::size_t>(2 * tile_tokens * head_dim);
  made.memory.resize(tile_size * kernels::stretch_tiles, 0x7BFF);  // stale, as large as can be
  for (std::size_t t = 0; t < kernels::stretch_tiles; ++t)
    made.pointers.push_back(made.memory.data() + t * tile_size);
  for (std::int32_t token = 0; token < tokens; ++token) {
    table.store_kv(keys.data() + token * head_dim, values.data() + token * head_dim, head_dim,
                   token % tile_tokens,
                   made.memory.data() + static_cast<std::size_t>(token / tile_tokens) * tile_size);
  }
  return made;
}

struct answer {
  std::vector<float> outputs, maxima, sums;
};

answer attend(const kernels::kernel_table& table, const tiles& context, const std::vector<float>& queries,
              const std::vector<std::int32_t>& limits) {
  const auto dim = static_cast<std::size_t>(context.head_dim);
  answer result{std::vector<float>(limits.size() * dim), std::vector<float>(limits.size()),
                std::vector<float>(limits.size())};
  std::vector<float> scores(limits.size() * stretch_tokens);
  kernels::attend_arguments arguments{};
  for (std::size_t q = 0; q < limits.size(); ++q) {
    arguments.queries[q] = queries.data() + q * dim;
    arguments.limits[q] = limits[q];
    arguments.outputs[q] = result.outputs.data() + q * dim;
  }
  arguments.tiles = context.pointers.data();
  arguments.num_queries = static_cast<std::int32_t>(limits.size());
  arguments.head_dim = context.head_dim;
  arguments.scores = scores.data();
  table.attend(arguments);
  for (std::size_t q = 0; q < limits.size(); ++q) {
    result.maxima[q] = arguments.maxima[q];
    result.sums[q] = arguments.sums[q];
  }
  return result;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(attention, reference_is_softmax_of_scores_times_values) {
  std::mt19937 random(1);
  const std::int32_t dim = 32;
  const std::int32_t tokens = 77;
  const auto keys = test::random_floats(tokens * dim, 1.0F, random);
  const auto values = test::random_floats(tokens * dim, 1.0F, random);
  const auto queries = test::random_floats(dim, 1.0F, random);
  const auto context = make_tiles(kernels::reference_kernels, dim, tokens, keys, values);
  const answer result = attend(kernels::reference_kernels, context, queries, {tokens});
  std::vector<double> expected(dim, 0.0);
  double sum = 0;
  for (std::int32_t t = 0; t < tokens; ++t) {
    double score = 0;
    for (std::int32_t d = 0; d < dim; ++d) score += static_cast<double>(queries[d]) * keys[t * dim + d];
    sum += std::exp(score);
    for (std::int32_t d = 0; d < dim; ++d) expected[d] += std::exp(score) * values[t * dim + d];
  }
  for (std::int32_t d = 0; d < dim; ++d)
    EXPECT_NEAR(result.outputs[d] / result.sums[0], expected[d] / sum, 3e-3);
}

TEST(attention, every_path_gives_the_bits_of_the_reference_with_any_queries_beside) {
  std::mt19937 random(2);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t dim : {16, 48, 64, 80, 128}) {
      for (std::int32_t count = 1; count <= kernels::max_attend_queries; ++count) {
        const auto width = static_cast<std::size_t>(dim);
        const auto keys = test::random_floats(stretch_tokens * width, 1.0F, random);
        const auto values = test::random_floats(stretch_tokens * width, 1.0F, random);
        const auto queries = test::random_floats(static_cast<std::size_t>(count) * width, 1.0F, random);
        std::vector<std::int32_t> limits;
        std::int32_t tokens = 1;
        for (std::int32_t q = 0; q < count; ++q) {
          limits.push_back(1 + static_cast<std::int32_t>(random() % stretch_tokens));
          tokens = std::max(tokens, limits.back());
        }
        const auto context = make_tiles(*table, dim, tokens, keys, values);
        const auto reference_context = make_tiles(kernels::reference_kernels, dim, tokens, keys, values);
        EXPECT_EQ(context.memory, reference_context.memory) << table->name;
        const answer mine = attend(*table, context, queries, limits);
        for (std::size_t q = 0; q < limits.size(); ++q) {
          const std::vector<float> query(queries.begin() + static_cast<std::ptrdiff_t>(q * width),
                                         queries.begin() + static_cast<std::ptrdiff_t>((q + 1) * width));
          const answer alone = attend(kernels::reference_kernels, reference_context, query, {limits[q]});
          const std::vector<float> output(
              mine.outputs.begin() + static_cast<std::ptrdiff_t>(q * width),
              mine.outputs.begin() + static_cast<std::ptrdiff_t>((q + 1) * width));
          EXPECT_TRUE(same_bits(output, alone.outputs)) << table->name << " dim " << dim << " of " << count;
          EXPECT_EQ(mine.maxima[q], alone.maxima[0]);
          EXPECT_EQ(mine.sums[q], alone.sums[0]);
        }
      }
    }
  }
}

TEST(attention, merging_stretches_has_the_references_bits) {
  std::mt19937 random(3);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    auto mine = test::random_floats(64, 1.0F, random);
    auto reference = mine;
    kernels::attention_state a{mine.data(), 1.5F, 20.0F};
    kernels::attention_state b{reference.data(), 1.5F, 20.0F};
    for (const float maximum : {0.25F, 3.0F, -40.0F, 2.0F}) {
      const auto more = test::random_floats(64, 1.0F, random);
      table->merge(a, maximum, 9.0F, more.data(), 64);
      kernels::reference_kernels.merge(b, maximum, 9.0F, more.data(), 64);
    }
    EXPECT_EQ(a.maximum, b.maximum);
    EXPECT_EQ(a.sum, b.sum);
    EXPECT_TRUE(same_bits(mine, reference)) << table->name;
    std::vector<float> out(64);
    std::vector<float> reference_out(64);
    table->finish(a, 64, out.data());
    kernels::reference_kernels.finish(b, 64, reference_out.data());
    EXPECT_TRUE(same_bits(out, reference_out)) << table->name;
  }
}

TEST(attention, stored_keys_and_values_are_finite_whatever_comes_in) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    std::vector<float> odd(16, 1e30F);
    odd[1] = -INFINITY;
    odd[2] = std::nanf("");
    odd[3] = INFINITY;
    std::vector<std::uint16_t> tile(2 * 16 * 16);
    table->store_kv(odd.data(), odd.data(), 16, 5, tile.data());
    for (const std::uint16_t half : tile)
      EXPECT_TRUE(std::isfinite(kernels::f16_to_f32(half))) << table->name;
  }
}

}  // namespace
}  // namespace troupe
