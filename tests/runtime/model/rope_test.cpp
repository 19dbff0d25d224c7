#include "runtime/model/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::gguf_writer;

constexpr int dimensions = 64;

struct rope_case {
  float base = 10'000.0F;
  std::function<void(gguf_writer&)> edit = [](gguf_writer&) {};
};

result<rope_frequencies> read(const rope_case& options) {
  gguf_writer writer;
  writer.add("llama.rope.freq_base", options.base);
  options.edit(writer);
  const test::temporary_file on_disk(writer.bytes());
  const auto file = gguf::file::open(on_disk.path());
  if (!file) return tl::unexpected(file.error());
  model_config config;
  config.architecture = "llama";
  config.rope_dim = dimensions;
  config.context_length = 131'072;
  return read_rope_frequencies(*file, config);
}

double plain(double base, std::size_t pair) {
  return std::pow(base, -2.0 * static_cast<double>(pair) / dimensions);
}

TEST(rope, unscaled_frequencies_are_powers_of_the_base) {
  const auto rope = read({});
  ASSERT_TRUE(rope) << rope.error().message;
  ASSERT_EQ(rope->inverse.size(), 32U);
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_FLOAT_EQ(rope->inverse[i], static_cast<float>(plain(10'000, i)));
  EXPECT_EQ(rope->attention_scale, 1.0F);
}

TEST(rope, linear_scaling_divides_every_frequency) {
  for (const bool typed : {true, false}) {
    const auto rope = read({.edit = [typed](gguf_writer& writer) {
      if (typed) writer.add("llama.rope.scaling.type", "linear");
      writer.add("llama.rope.scaling.factor", 4.0F);
    }});
    ASSERT_TRUE(rope) << rope.error().message;
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_FLOAT_EQ(rope->inverse[i], static_cast<float>(plain(10'000, i) / 4));
  }
}

TEST(rope, no_scaling_ignores_the_factor) {
  const auto rope = read({.edit = [](gguf_writer& writer) {
    writer.add("llama.rope.scaling.type", "none").add("llama.rope.scaling.factor", 4.0F);
  }});
  ASSERT_TRUE(rope);
  EXPECT_FLOAT_EQ(rope->inverse[5], static_cast<float>(plain(10'000, 5)));
}

// Expected values: transformers' _compute_yarn_parameters for dim 64, base 1e6, factor 4, 32768 positions.
TEST(rope, yarn_keeps_fast_waves_and_stretches_slow_ones) {
  const auto rope =
      read({.base = 1e6F, .edit = [](gguf_writer& writer) {
              writer.add("llama.rope.scaling.type", "yarn").add("llama.rope.scaling.factor", 4.0F);
              writer.add("llama.rope.scaling.original_context_length", 32'768U);
            }});
  ASSERT_TRUE(rope) << rope.error().message;
  EXPECT_FLOAT_EQ(rope->inverse[0], 1.0F);
  EXPECT_FLOAT_EQ(rope->inverse[11], 0.008659643233600653F);
  EXPECT_FLOAT_EQ(rope->inverse[12], 0.005154795480911533F);
  EXPECT_FLOAT_EQ(rope->inverse[16], 0.0005833333333333333F);
  EXPECT_FLOAT_EQ(rope->inverse[19], 9.128065447547873e-05F);
  EXPECT_FLOAT_EQ(rope->inverse[20], 4.445698525097307e-05F);
  EXPECT_FLOAT_EQ(rope->inverse[31], 3.84981631514873e-07F);
  EXPECT_FLOAT_EQ(rope->attention_scale, 1.138629436111989F);
}

// As llama.cpp does: the file's factor counts whatever the type.
TEST(rope, the_attention_factor_holds_for_every_type) {
  for (const auto& [type, expected] :
       {std::pair{"", 1.5F}, std::pair{"none", 1.5F}, std::pair{"linear", 1.5F},
        std::pair{"yarn", 1.5F * 1.138629436111989F}}) {
    const auto rope = read({.edit = [type = std::string_view(type)](gguf_writer& writer) {
      if (!type.empty()) writer.add("llama.rope.scaling.type", type);
      writer.add("llama.rope.scaling.factor", 4.0F).add("llama.rope.scaling.attn_factor", 1.5F);
    }});
    ASSERT_TRUE(rope) << rope.error().message;
    EXPECT_FLOAT_EQ(rope->attention_scale, expected) << type;
  }
}

TEST(rope, an_extrapolation_below_zero_is_none_that_was_set) {
  const auto with = [](std::optional<float> extrapolation) {
    return read({.edit = [=](gguf_writer& writer) {
      writer.add("llama.rope.scaling.type", "yarn").add("llama.rope.scaling.factor", 4.0F);
      if (extrapolation) writer.add("llama.rope.scaling.yarn_ext_factor", *extrapolation);
    }});
  };
  const auto unset = with(std::nullopt), negative = with(-1.0F);
  ASSERT_TRUE(unset && negative);
  EXPECT_EQ(negative->inverse, unset->inverse);
  EXPECT_EQ(negative->attention_scale, unset->attention_scale);
  EXPECT_NE(with(0.0F)->inverse, unset->inverse);
  EXPECT_FALSE(with(-2.0F));
}

std::string floats(std::size_t count, float value) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += test::raw(value + static_cast<float>(i));
  return out;
}

TEST(rope, llama3_factors_divide_each_frequency_by_its_own) {
  const auto rope = read({.edit = [](gguf_writer& writer) {
    writer.add_tensor("rope_freqs.weight", {32}, gguf::tensor_type::f32, floats(32, 1.0F));
  }});
  ASSERT_TRUE(rope) << rope.error().message;
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_FLOAT_EQ(rope->inverse[i], static_cast<float>(plain(10'000, i) / static_cast<double>(i + 1)));
  }
}

TEST(rope, refuses_factors_of_the_wrong_size_or_value) {
  EXPECT_FALSE(read({.edit = [](gguf_writer& writer) {
    writer.add_tensor("rope_freqs.weight", {31}, gguf::tensor_type::f32, floats(31, 1.0F));
  }}));
  EXPECT_FALSE(read({.edit = [](gguf_writer& writer) {
    writer.add_tensor("rope_freqs.weight", {32}, gguf::tensor_type::f16, std::string(64, '\x3c'));
  }}));
  for (const float first : {0.0F, -1.0F, std::nanf("")}) {
    const auto rope = read({.edit = [first](gguf_writer& writer) {
      writer.add_tensor("rope_freqs.weight", {32}, gguf::tensor_type::f32, floats(32, first));
    }});
    ASSERT_FALSE(rope);
    EXPECT_EQ(rope.error().param, "tensor 'rope_freqs.weight'");
  }
}

TEST(rope, stays_finite_for_any_accepted_setting) {
  for (const float base : {1.0F, 1.0001F, 1e15F}) {
    for (const float factor : {1e-6F, 1.0F, 1e6F}) {
      for (const std::uint32_t context : {1U, 1'000'000'000U}) {
        const auto rope = read({.base = base, .edit = [=](gguf_writer& writer) {
                                  writer.add("llama.rope.scaling.type", "yarn");
                                  writer.add("llama.rope.scaling.factor", factor);
                                  writer.add("llama.rope.scaling.original_context_length", context);
                                }});
        if (!rope) continue;
        EXPECT_TRUE(std::isfinite(rope->attention_scale));
        for (const float each : rope->inverse) EXPECT_TRUE(std::isfinite(each)) << base << " " << factor;
      }
    }
  }
}

}  // namespace
}  // namespace troupe
