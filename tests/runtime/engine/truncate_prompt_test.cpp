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
    EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}), 0);
    EXPECT_EQ(truncate_prompt(prompt, 64, 64 - size, {}), 0);
    EXPECT_EQ(prompt, prompt_of(size));
  }
}

TEST(truncate_prompt, keeps_the_end_and_makes_room_for_the_answer) {
  for (std::int32_t size = 60; size < 200; ++size) {
    for (const std::int32_t max_tokens : {1, 10, 62}) {
      if (size + max_tokens <= 64) continue;
      auto prompt = prompt_of(size);
      const std::int32_t dropped = truncate_prompt(prompt, 64, max_tokens, {});
      EXPECT_EQ(static_cast<std::int32_t>(prompt.size()) + max_tokens, 64);
      EXPECT_EQ(static_cast<std::int32_t>(prompt.size()) + dropped, size);
      EXPECT_EQ(prompt.back(), 100 + size - 1);
      EXPECT_EQ(prompt.front(), 100 + dropped);
    }
  }
  auto prompt = prompt_of(64);
  EXPECT_EQ(truncate_prompt(prompt, 64, {}, {}), 16) << "a quarter of the context is the answer's";
}

TEST(truncate_prompt, keeps_a_begin_of_text_token) {
  auto prompt = prompt_of(100);
  EXPECT_EQ(truncate_prompt(prompt, 64, 4, 100), 40);
  EXPECT_EQ(prompt.size(), 60U);
  EXPECT_EQ(prompt.front(), 100);
  EXPECT_EQ(prompt[1], 100 + 41);
  EXPECT_EQ(prompt.back(), 199);
}

TEST(truncate_prompt, leaves_what_can_never_fit_to_be_refused) {
  for (const std::int32_t max_tokens : {63, 64, 1000, 2147483647}) {
    auto prompt = prompt_of(100);
    EXPECT_EQ(truncate_prompt(prompt, 64, max_tokens, {}), 0) << max_tokens;
  }
  auto prompt = prompt_of(3);
  EXPECT_EQ(truncate_prompt(prompt, 2, {}, {}), 0);
}

}  // namespace
}  // namespace troupe
