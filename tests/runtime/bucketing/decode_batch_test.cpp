#include "runtime/bucketing/decode_batch.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using values = std::vector<std::int32_t>;
using kind = decode_batch_options::strategy;

values sizes(const decode_batch_options& options, std::int32_t max_num_seqs) {
  const auto made = decode_batch_values(options, max_num_seqs);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(values{});
}

std::string fault(const decode_batch_options& options, std::int32_t max_num_seqs) {
  const auto made = decode_batch_values(options, max_num_seqs);
  if (made) return "none";
  EXPECT_EQ(made.error().code, error_code::invalid_argument);
  EXPECT_TRUE(made.error().message.starts_with(made.error().param)) << made.error().message;
  return made.error().message;
}

TEST(DecodeBatchValues, AreDividedDownFromTheLargest) {
  EXPECT_EQ(sizes({kind::exponential, 2, 2, 4}, 32), (values{32, 16, 8, 4}));
  EXPECT_EQ(sizes({kind::exponential, 1, 3, 32}, 100), (values{100, 33, 11, 3, 1}));
}

TEST(DecodeBatchValues, AreLessenedByTheStep) {
  EXPECT_EQ(sizes({kind::linear, 2, 4, 32}, 16), (values{16, 12, 8, 4}));
  const values many = sizes({kind::linear, 1, 256, 32}, 4096);
  ASSERT_EQ(many.size(), 16U);
  EXPECT_EQ((values{many[0], many[1], many[2]}), (values{4096, 3840, 3584}));
  EXPECT_EQ(sizes({kind::linear, 1, 1, 3}, 8), (values{8, 7, 6}));
}

TEST(DecodeBatchValues, HalveDownTo1ByDefault) {
  EXPECT_EQ(sizes({}, 64), (values{64, 32, 16, 8, 4, 2, 1}));
  EXPECT_EQ(sizes({}, 1), (values{1}));
}

TEST(DecodeBatchValues, HoldNoneBelowTheMinimumAndNoMoreThanTheLimit) {
  EXPECT_EQ(sizes({kind::exponential, 5, 2, 32}, 32), (values{32, 16, 8}));
  EXPECT_EQ(sizes({kind::exponential, 1, 2, 1}, 32), (values{32}));
  EXPECT_EQ(sizes({kind::linear, 16, 4, 32}, 16), (values{16}));
}

TEST(DecodeBatchValues, RefuseWhatHasNoMeaningAndNameIt) {
  EXPECT_EQ(fault({kind::exponential, 1, 1, 32}, 8),
            "decode_batch_bucket_step must be greater than 1 for the exponential strategy, got 1");
  EXPECT_EQ(fault({kind::linear, 1, 0, 32}, 8), "decode_batch_bucket_step must be greater than 0, got 0");
  EXPECT_EQ(fault({kind::exponential, 0, 2, 32}, 8), "decode_batch_bucket_min must be greater than 0, got 0");
  EXPECT_EQ(fault({kind::linear, 1, 2, -1}, 8), "decode_batch_bucket_limit must be greater than 0, got -1");
  EXPECT_EQ(fault({kind::linear, 9, 2, 32}, 8),
            "decode_batch_bucket_min must be at most max_num_seqs (8), got 9");
}

}  // namespace
}  // namespace troupe
