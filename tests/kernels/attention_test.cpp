#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/half.hpp"
#include "kernels/reference/reference_kernels.hpp"
#include "tests/kernels/kernels_fixture.hpp"

namespace troupe {
namespace {

using kernels::kv_dtype;
using kernels::stretch_tokens;
using kernels::tile_tokens;

struct tiles {
  kv_dtype dtype;
  std::int32_t head_dim;
  std::vector<std::byte> memory;
  std::vector<const std::byte*> pointers;
};

// Every byte that no token has stored is 0x7B: large halves, large codes, scales beyond 1e36.
tiles make_tiles(const kernels::kernel_table& table, kv_dtype dtype, std::int32_t head_dim,
                 std::int32_t tokens, const std::vector<float>& keys, const std::vector<float>& values) {
  tiles made{dtype, head_dim, {}, {}};
  const std::size_t tile_size = kernels::tile_bytes(dtype, head_dim);
  made.memory.resize(tile_size * kernels::stretch_tiles, std::byte{0x7B});
  for (std::size_t t = 0; t < kernels::stretch_tiles; ++t)
    made.pointers.push_back(made.memory.data() + t * tile_size);
  for (std::int32_t token = 0; token < tokens; ++token) {
    table.kv(dtype).store(keys.data() + token * head_dim, values.data() + token * head_dim, head_dim,
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
  std::vector<std::int16_t> codes(limits.size() *
                                  static_cast<std::size_t>(kernels::code_stride(context.head_dim)));
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
  arguments.codes = codes.data();
  table.kv(context.dtype).attend(arguments);
  for (std::size_t q = 0; q < limits.size(); ++q) {
    result.maxima[q] = arguments.maxima[q];
    result.sums[q] = arguments.sums[q];
  }
  return result;
}

class stored : public testing::TestWithParam<kv_dtype> {};

INSTANTIATE_TEST_SUITE_P(attention, stored, testing::Values(kv_dtype::f16, kv_dtype::int8),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

TEST_P(stored, reference_is_softmax_of_scores_times_values) {
  std::mt19937 random(1);
  const std::int32_t dim = 32;
  const std::int32_t tokens = 77;
  const auto keys = test::random_floats(tokens * dim, 1.0F, random);
  const auto values = test::random_floats(tokens * dim, 1.0F, random);
  const auto queries = test::random_floats(dim, 1.0F, random);
  const auto context = make_tiles(kernels::reference_kernels, GetParam(), dim, tokens, keys, values);
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
    EXPECT_NEAR(result.outputs[d] / result.sums[0], expected[d] / sum,
                GetParam() == kv_dtype::int8 ? 2e-2 : 3e-3);
}

TEST_P(stored, every_path_gives_the_bits_of_the_reference_with_any_queries_beside) {
  std::mt19937 random(2);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t dim : {16, 48, 64, 80, 128, 320}) {
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
        const auto context = make_tiles(*table, GetParam(), dim, tokens, keys, values);
        const auto reference_context =
            make_tiles(kernels::reference_kernels, GetParam(), dim, tokens, keys, values);
        EXPECT_EQ(context.memory, reference_context.memory) << table->name;
        const answer mine = attend(*table, context, queries, limits);
        for (std::size_t q = 0; q < limits.size(); ++q) {
          const std::vector<float> query(queries.begin() + static_cast<std::ptrdiff_t>(q * width),
                                         queries.begin() + static_cast<std::ptrdiff_t>((q + 1) * width));
          const answer alone = attend(kernels::reference_kernels, reference_context, query, {limits[q]});
          const std::vector<float> output(
              mine.outputs.begin() + static_cast<std::ptrdiff_t>(q * width),
              mine.outputs.begin() + static_cast<std::ptrdiff_t>((q + 1) * width));
          EXPECT_TRUE(test::same_bits(output, alone.outputs))
              << table->name << " dim " << dim << " of " << count;
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
    EXPECT_TRUE(test::same_bits(mine, reference)) << table->name;
    std::vector<float> out(64);
    std::vector<float> reference_out(64);
    table->finish(a, 64, out.data());
    kernels::reference_kernels.finish(b, 64, reference_out.data());
    EXPECT_TRUE(test::same_bits(out, reference_out)) << table->name;
  }
}

// The Hadamard transform by its definition, in blocks of the largest power of two that divides the head.
std::vector<double> transformed(const std::vector<float>& head) {
  const std::size_t size = head.size() & -head.size();
  std::vector<double> turned(head.size());
  for (std::size_t i = 0; i < head.size(); ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const bool negative = std::popcount(i % size & j) % 2 != 0;
      turned[i] += (negative ? -1.0 : 1.0) * static_cast<double>(head[i / size * size + j]);
    }
  }
  return turned;
}

// What the codes at `place(d)` and the scale at `scale` stand for.
template <class Place>
std::vector<double> restored(const std::vector<std::byte>& tile, std::int32_t head_dim, std::size_t scale,
                             const Place& place) {
  float factor = 0;
  std::memcpy(&factor, tile.data() + scale, sizeof(factor));
  std::vector<double> values;
  for (std::int32_t d = 0; d < head_dim; ++d) {
    const int code = std::to_integer<int>(tile[static_cast<std::size_t>(place(d))]);
    values.push_back(static_cast<double>(factor) * (code - 128));
  }
  return values;
}

std::vector<double> restored_keys(const std::vector<std::byte>& tile, std::int32_t head_dim,
                                  std::int32_t token) {
  return restored(tile, head_dim, kernels::key_scales_offset(head_dim) + token * 4,
                  [&](std::int32_t d) { return d / 4 * 64 + token * 4 + d % 4; });
}

std::vector<double> restored_values(const std::vector<std::byte>& tile, std::int32_t head_dim,
                                    std::int32_t token) {
  const auto codes = static_cast<std::int32_t>(kernels::value_codes_offset(head_dim));
  return restored(tile, head_dim, kernels::value_scales_offset(head_dim) + token * 4,
                  [&](std::int32_t d) { return codes + (token / 4 * head_dim + d) * 4 + token % 4; });
}

TEST(attention, int8_keeps_every_transformed_element_within_half_a_step_of_its_tokens_scale) {
  std::mt19937 random(4);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t dim : {16, 64, 80}) {
      std::vector<std::byte> tile(kernels::tile_bytes(kv_dtype::int8, dim), std::byte{0x7B});
      std::vector<std::vector<float>> keys;
      std::vector<std::vector<float>> values;
      for (std::int32_t token = 0; token < tile_tokens; ++token) {
        const float size = std::exp2(static_cast<float>(token) - 8.0F);  // each token its own scale
        keys.push_back(test::random_floats(static_cast<std::size_t>(dim), size, random));
        values.push_back(test::random_floats(static_cast<std::size_t>(dim), 1.0F / size, random));
        table->int8_kv.store(keys.back().data(), values.back().data(), dim, token, tile.data());
      }
      const auto expect_close = [&](const std::vector<float>& head, const std::vector<double>& stored_head) {
        const std::vector<double> wanted = transformed(head);
        double amax = 0;
        for (const double x : wanted) amax = std::max(amax, std::abs(x));
        for (std::size_t d = 0; d < wanted.size(); ++d)
          EXPECT_NEAR(stored_head[d], wanted[d], amax / 127 * 0.5001) << table->name << " dim " << d;
      };
      for (std::int32_t token = 0; token < tile_tokens; ++token) {
        expect_close(keys[static_cast<std::size_t>(token)], restored_keys(tile, dim, token));
        expect_close(values[static_cast<std::size_t>(token)], restored_values(tile, dim, token));
      }
    }
  }
}

TEST(attention, int8_gives_zero_for_values_that_are_all_zero) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    const std::vector<float> nothing(static_cast<std::size_t>(stretch_tokens) * 16, 0.0F);
    const auto context = make_tiles(*table, kv_dtype::int8, 16, 20, nothing, nothing);
    const answer result = attend(*table, context, std::vector<float>(16, 1.0F), {20});
    EXPECT_EQ(result.outputs, std::vector<float>(16, 0.0F)) << table->name;
    EXPECT_EQ(result.maxima[0], 0.0F);
    EXPECT_EQ(result.sums[0], 20.0F);
  }
}

TEST(attention, int8_sums_of_the_widest_head_do_not_overflow) {
  constexpr std::int32_t dim = kernels::max_int8_head_dim;
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const float sign : {1.0F, -1.0F}) {
      // The transform of a single element is that element everywhere: every code is the largest.
      std::vector<float> single(static_cast<std::size_t>(stretch_tokens) * dim, 0.0F);
      for (std::size_t t = 0; t < stretch_tokens; ++t) single[t * dim] = sign * 20.0F;
      std::vector<float> query(dim, 0.0F);
      query[0] = 0.5F;
      const auto context = make_tiles(*table, kv_dtype::int8, dim, stretch_tokens, single, single);
      const answer result = attend(*table, context, query, {stretch_tokens});
      EXPECT_NEAR(result.maxima[0], sign * 10.0F, 1e-4F) << table->name;
      EXPECT_NEAR(result.outputs[0] / result.sums[0], sign * 20.0F, 1e-3F) << table->name;
    }
  }
}

TEST(attention, stored_keys_and_values_are_finite_whatever_comes_in) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    std::vector<float> odd(16, 1e30F);
    odd[1] = -INFINITY;
    odd[2] = std::nanf("");
    odd[3] = INFINITY;
    std::vector<std::byte> tile(kernels::tile_bytes(kv_dtype::f16, 16));
    table->f16_kv.store(odd.data(), odd.data(), 16, 5, tile.data());
    for (std::size_t i = 0; i < tile.size(); i += 2) {
      std::uint16_t half = 0;
      std::memcpy(&half, tile.data() + i, 2);
      EXPECT_TRUE(std::isfinite(kernels::f16_to_f32(half))) << table->name;
    }
    tile.assign(kernels::tile_bytes(kv_dtype::int8, 16), std::byte{});
    table->int8_kv.store(odd.data(), odd.data(), 16, 5, tile.data());
    for (const double x : restored_keys(tile, 16, 5)) EXPECT_LE(std::abs(x), 16 * 65504.0 + 1);
    for (const double x : restored_values(tile, 16, 5)) EXPECT_LE(std::abs(x), 16 * 65504.0 + 1);
  }
}

}  // namespace
}  // namespace troupe
