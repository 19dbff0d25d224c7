#include "runtime/engine/truncate_prompt.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace troupe {
namespace {

std::vector<token_id> prompt_of(std::int32_t size) {
  std::vector<token_id> prompt(static_cast<std::size_t>(size));
  std::iota(prompt.begin(), prompt.end(), 100);
  return prompt;
}

TEST(truncate_prompt, leaves_a_prompt_that_fits_as_it_is) {
  for (std::int32_t size = 1; size < 64; ++size) {
    auto prompt = prompt_of(size);
    EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}).dropped, 0);
    const truncation done = truncate_prompt(prompt, 64, 64 - size, {});
    EXPECT_EQ(done.dropped, 0);
    EXPECT_EQ(done.max_tokens, std::nullopt);
    EXPECT_EQ(prompt, prompt_of(size));
  }
}

TEST(truncate_prompt, keeps_the_end_and_makes_room_for_the_answer) {
  for (std::int32_t size = 60; size < 200; ++size) {
    for (const std::int32_t max_tokens : {1, 10, 62, 63}) {
      if (size + max_tokens <= 64) continue;
      auto prompt = prompt_of(size);
      const std::int32_t dropped = truncate_prompt(prompt, 64, max_tokens, {}).dropped;
      EXPECT_EQ(static_cast<std::int32_t>(prompt.size()) + max_tokens, 64);
      EXPECT_EQ(static_cast<std::int32_t>(prompt.size()) + dropped, size);
      EXPECT_EQ(prompt.back(), 100 + size - 1);
      EXPECT_EQ(prompt.front(), 100 + dropped);
    }
  }
  auto prompt = prompt_of(64);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}).dropped, 16) << "a quarter of the context is the answer's";
}

TEST(truncate_prompt, leaves_room_for_the_least_that_is_asked_for) {
  auto prompt = prompt_of(60);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}, 4).dropped, 0);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}, 5).dropped, 12) << "a quarter of the context";
  prompt = prompt_of(60);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}, 40).dropped, 36);
  prompt = prompt_of(60);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}, 64).dropped, 0) << "which there is no room for";
}

TEST(truncate_prompt, keeps_a_begin_of_text_token) {
  auto prompt = prompt_of(100);
  EXPECT_EQ(truncate_prompt(prompt, 64, 4, 100).dropped, 40);
  EXPECT_EQ(prompt.size(), 60U);
  EXPECT_EQ(prompt.front(), 100);
  EXPECT_EQ(prompt[1], 100 + 41);
  EXPECT_EQ(prompt.back(), 199);
}

TEST(truncate_prompt, keeps_the_last_token_where_only_one_fits) {
  auto prompt = prompt_of(100);
  EXPECT_EQ(truncate_prompt(prompt, 64, 63, 100).dropped, 99);
  EXPECT_EQ(prompt, std::vector<token_id>{199}) << "rather than the begin-of-text token";
  prompt = prompt_of(3);
  EXPECT_EQ(truncate_prompt(prompt, 2, {}, {}).dropped, 2);
  EXPECT_EQ(prompt, std::vector<token_id>{102});
}

TEST(truncate_prompt, lowers_max_tokens_that_leave_no_room_for_any_prompt) {
  for (const std::int32_t max_tokens : {64, 65, 1000, 2147483647}) {
    auto prompt = prompt_of(10);
    truncation done = truncate_prompt(prompt, 64, max_tokens, {});
    EXPECT_EQ(done.dropped, 0);
    EXPECT_EQ(done.max_tokens, 54);
    EXPECT_EQ(prompt, prompt_of(10));
    prompt = prompt_of(100);
    done = truncate_prompt(prompt, 64, max_tokens, {});
    EXPECT_EQ(done.dropped, 52);
    EXPECT_EQ(done.max_tokens, 16) << "a quarter of the context, as where none is set";
    EXPECT_EQ(prompt.size(), 48U);
  }
}

TEST(truncate_prompt, changes_nothing_where_nothing_fits) {
  auto prompt = prompt_of(3);
  const truncation done = truncate_prompt(prompt, 1, 1, {});
  EXPECT_EQ(done.dropped, 0);
  EXPECT_EQ(done.max_tokens, std::nullopt);
  EXPECT_EQ(prompt, prompt_of(3));
}

}  // namespace
}  // namespace troupe
