#include "runtime/scheduler/sequence_tokens.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace troupe {
namespace {

TEST(sequence_tokens, reads_like_a_vector_whatever_is_asked_between) {
  for (std::int32_t prompt = 0; prompt < 20; ++prompt) {
    for (std::int32_t every = 1; every < 30; ++every) {
      std::vector<token_id> expected(static_cast<std::size_t>(prompt), 7);
      sequence_tokens tested(expected);
      for (token_id token = 0; token < 60; ++token) {
        tested.push_back(token);
        expected.push_back(token);
        ASSERT_EQ(tested.size(), static_cast<std::int32_t>(expected.size()));
        ASSERT_EQ(tested[tested.size() - 1], token);
        if (token % every != 0) continue;
        ASSERT_EQ(tested.all(), expected) << prompt << " " << every;
      }
      for (std::int32_t i = 0; i < tested.size(); ++i)
        ASSERT_EQ(tested[i], expected[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(sequence_tokens, moves_nothing_where_there_is_room) {
  sequence_tokens tested(std::vector<token_id>(10, 7));
  tested.reserve(100);
  const token_id* before = tested.all().data();
  for (token_id token = 0; token < 90; ++token) tested.push_back(token);
  EXPECT_EQ(tested.all().data(), before);
}

}  // namespace
}  // namespace troupe
