#include "runtime/drafting/tenant_outputs.hpp"

#include <gtest/gtest.h>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

tokens random_tokens(dice& random, std::size_t count, std::int32_t vocabulary) {
  tokens out(count);
  for (token_id& token : out) token = random.pick(0, vocabulary - 1);
  return out;
}

TEST(tenant_outputs, an_answer_is_found_once_the_work_is_done) {
  tenant_outputs outputs({.max_depth = 8});
  outputs.add({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(outputs.num_requests(), 1U);
  EXPECT_TRUE(outputs.work(2));
  EXPECT_TRUE(outputs.work(2));
  EXPECT_FALSE(outputs.work(2));
  EXPECT_EQ(outputs.tree().longest_match(tokens{9, 2, 3, 4}).match_length, 3);
  EXPECT_EQ(outputs.num_requests(), 1U);
}

TEST(tenant_outputs, the_oldest_answers_make_room_for_new_ones) {
  tenant_outputs outputs({.max_depth = 8, .max_requests = 3});
  for (token_id i = 0; i < 10; ++i) {
    outputs.add({100 + i, 200 + i, 300 + i});
    while (outputs.work(1)) {
    }
    EXPECT_LE(outputs.num_requests(), 3U);
  }
  for (token_id i = 0; i < 10; ++i)
    EXPECT_EQ(outputs.tree().find(tokens{100 + i, 200 + i}).has_value(), i >= 7) << i;
  EXPECT_EQ(outputs.tree().check(), "");
}

TEST(tenant_outputs, never_take_more_bytes_than_allowed) {
  for (const std::int32_t vocabulary : {2, 50, 40000}) {
    dice random(1);
    const tenant_limits limits{.max_depth = 24, .max_bytes = 200000};
    tenant_outputs outputs(limits);
    for (int i = 0; i < 200; ++i) {
      const std::size_t length = random.chance(5) ? 5000 : static_cast<std::size_t>(random.pick(0, 300));
      outputs.add(random_tokens(random, length, vocabulary));
      while (outputs.work(100)) ASSERT_LE(outputs.bytes(), limits.max_bytes);
      ASSERT_LE(outputs.bytes(), limits.max_bytes);
    }
    EXPECT_EQ(outputs.tree().check(), "");
    EXPECT_GT(outputs.num_requests(), 3U);
    EXPECT_LE(outputs.tree().bytes(), 2 * limits.max_bytes);
  }
}

TEST(tenant_outputs, answers_that_come_faster_than_the_work_are_forgotten_the_oldest_first) {
  tenant_outputs outputs({.max_depth = 8, .max_bytes = 100000});
  dice random(1);
  for (int i = 0; i < 1000; ++i) outputs.add(random_tokens(random, 100, 1000));
  outputs.add({1, 2, 3});
  EXPECT_LE(outputs.bytes(), 100000U);
  while (outputs.work(64)) {
  }
  EXPECT_TRUE(outputs.tree().find(tokens{1, 2, 3}).has_value());
}

TEST(tenant_outputs, of_no_requests_keep_nothing) {
  tenant_outputs outputs({.max_requests = 0});
  outputs.add({1, 2, 3});
  EXPECT_FALSE(outputs.has_work());
  EXPECT_EQ(outputs.num_requests(), 0U);
}

}  // namespace
}  // namespace troupe
