#include "runtime/scheduler/newest_tokens.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace troupe {
namespace {

TEST(newest_tokens, complete_the_older_ones_whatever_is_asked_between) {
  for (std::int32_t prompt = 0; prompt < 40; ++prompt) {
    for (std::int32_t every = 1; every < 40; ++every) {
      std::pmr::vector<token_id> expected;
      std::pmr::vector<token_id> older;
      newest_tokens tested;
      for (token_id token = 0; token < 80; ++token) {
        tested.add(token, older, prompt, prompt + token);
        expected.push_back(token);
        for (std::size_t i = older.size(); i < expected.size(); ++i)
          ASSERT_EQ(tested[prompt + static_cast<std::int32_t>(i)], expected[i]);
        if (token % every != 0) continue;
        tested.move_to(older, prompt, prompt + token + 1);
        ASSERT_EQ(older, expected) << prompt << " " << every;
      }
    }
  }
}

TEST(newest_tokens, move_once_in_a_line_of_them) {
  std::pmr::vector<token_id> older;
  newest_tokens tested;
  int moves = 0;
  for (std::int32_t position = 10; position < 170; ++position) {
    const std::size_t before = older.size();
    tested.add(1, older, 10, position);
    moves += older.size() != before ? 1 : 0;
  }
  EXPECT_EQ(moves, 10);
}

}  // namespace
}  // namespace troupe
