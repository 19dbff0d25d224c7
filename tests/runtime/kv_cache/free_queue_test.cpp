#include "runtime/kv_cache/free_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace troupe {
namespace {

using blocks = std::vector<std::int32_t>;

TEST(free_queue, gives_all_blocks_in_order_at_first) {
  block_entries entries = make_block_entries(3);
  free_queue queue(entries);
  EXPECT_EQ(queue.blocks(), (blocks{0, 1, 2}));
  EXPECT_EQ(queue.pop_front(), 0);
  EXPECT_EQ(queue.pop_front(), 1);
  EXPECT_EQ(queue.pop_front(), 2);
  EXPECT_EQ(queue.size(), 0);
  EXPECT_EQ(queue.blocks(), blocks{});
}

TEST(free_queue, takes_blocks_back_at_either_end_and_gives_them_from_the_middle) {
  block_entries entries = make_block_entries(4);
  free_queue queue(entries);
  queue.remove(1);
  queue.remove(3);
  EXPECT_EQ(queue.blocks(), (blocks{0, 2}));
  queue.push_back(1);
  queue.push_front(3);
  EXPECT_EQ(queue.blocks(), (blocks{3, 0, 2, 1}));
}

TEST(free_queue, shows_its_next_blocks_and_keeps_them) {
  block_entries entries = make_block_entries(4);
  free_queue queue(entries);
  queue.remove(1);
  queue.push_back(1);
  for (const std::size_t most : {0U, 2U, 4U, 9U}) {
    blocks seen;
    queue.visit_next(most, [&seen](std::int32_t block) { seen.push_back(block); });
    blocks expected = {0, 2, 3, 1};
    expected.resize(std::min<std::size_t>(most, 4));
    EXPECT_EQ(seen, expected);
  }
  EXPECT_EQ(queue.size(), 4);
}

TEST(free_queue, is_a_list_like_any_other) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto size = static_cast<std::int32_t>(1 + random() % 20);
    block_entries entries = make_block_entries(size);
    free_queue queue(entries);
    std::deque<std::int32_t> expected;
    for (std::int32_t block = 0; block < size; ++block) expected.push_back(block);
    for (int i = 0; i < 500; ++i) {
      const auto block = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(size));
      const auto found = std::find(expected.begin(), expected.end(), block);
      if (found == expected.end()) {
        if (random() % 2 == 0) {
          queue.push_back(block);
          expected.push_back(block);
        } else {
          queue.push_front(block);
          expected.push_front(block);
        }
      } else if (random() % 2 == 0) {
        queue.remove(block);
        expected.erase(found);
      } else {
        ASSERT_EQ(queue.pop_front(), expected.front()) << "seed " << seed;
        expected.pop_front();
      }
      ASSERT_EQ(queue.blocks(), blocks(expected.begin(), expected.end())) << "seed " << seed;
      ASSERT_EQ(queue.size(), static_cast<std::int32_t>(expected.size())) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace troupe
