// Bucket plans by hand.
#pragma once
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

}  // namespace troupe::test
