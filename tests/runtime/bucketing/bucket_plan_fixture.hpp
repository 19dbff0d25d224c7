// Bucket plans by hand, and that of document 002's example.
#pragma once
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"

namespace troupe::test {

inline bucket_plan plan_of(std::vector<bucket> prompt, std::vector<bucket> decode) {
  bucket_plan plan;
  plan.strategy = bucketing_strategy::exponential;
  plan.prompt = std::move(prompt);
  plan.decode = std::move(decode);
  return plan;
}

// 128 to 1024 tokens by 128, batches 1, 2 and 4, a token a block.
inline bucket_plan documented_plan() {
  bucketing_options options;
  options.prompt.batch = {.min = 1, .step = 1, .max = 4};
  options.prompt.query = {.min = 128, .step = 128};
  options.prompt.blocks = {.max = 0};
  options.decode.blocks = {.min = 128, .step = 128};
  const auto made = make_buckets(options, {4, 1024, 1, 1024, 5781});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(bucket_plan{});
}

}  // namespace troupe::test
