#include "runtime/drafting/prompt_lookup.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/support/dice.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

// Length and place behind the latest earlier occurrence of the longest n-gram at the end.
std::pair<std::size_t, std::size_t> search(const tokens& text, std::size_t min_n, std::size_t max_n) {
  for (std::size_t n = std::min(max_n, text.size()); n >= min_n && n > 0; --n) {
    const auto gram = std::span(text).last(n);
    for (std::size_t end = text.size() - 1; end >= n; --end) {
      if (std::ranges::equal(std::span(text).subspan(end - n, n), gram)) return {n, end};
    }
  }
  return {0, 0};
}

TEST(prompt_lookup, finds_what_a_search_through_all_tokens_finds) {
  const test::seed_range seeds = test::seeds_to_run(60);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    dice random(seed);
    const std::int32_t min_n = random.pick(1, 4);
    const std::int32_t max_n = random.pick(min_n, 7);
    const std::int32_t alphabet = random.pick(1, 5);
    prompt_lookup lookup(min_n, max_n, random.number());
    tokens text;
    for (int step = 0; step < 150; ++step) {
      tokens more;
      for (std::int32_t i = random.pick(1, 3); i > 0; --i) more.push_back(random.pick(0, alphabet));
      lookup.append(more);
      text.insert(text.end(), more.begin(), more.end());
      const auto [length, end] =
          search(text, static_cast<std::size_t>(min_n), static_cast<std::size_t>(max_n));
      ASSERT_EQ(static_cast<std::size_t>(lookup.match_length()), length)
          << "seed " << seed << ", step " << step;
      tokens proposed;
      lookup.continue_match(5, proposed);
      tokens expected;
      tokens extended = text;
      for (std::size_t i = 0; length > 0 && i < 5; ++i) {
        expected.push_back(extended[end + i]);
        extended.push_back(expected.back());
      }
      ASSERT_EQ(proposed, expected) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(prompt_lookup, continues_a_sequence_that_repeats_itself_for_ever) {
  prompt_lookup lookup(1, 4);
  lookup.append(tokens{7, 8, 9, 7, 8});
  tokens proposed;
  lookup.continue_match(7, proposed);
  EXPECT_EQ(proposed, (tokens{9, 7, 8, 9, 7, 8, 9}));
}

TEST(prompt_lookup, proposes_nothing_for_less_than_the_least) {
  prompt_lookup lookup(3, 4);
  lookup.append(tokens{1, 2, 5, 1, 2});
  EXPECT_EQ(lookup.match_length(), 0);
  tokens proposed{1};
  lookup.continue_match(4, proposed);
  EXPECT_TRUE(proposed.empty());
}

}  // namespace
}  // namespace troupe
