#include "runtime/kv_cache/prefix_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace troupe {
namespace {

// Few buckets are told apart by `bucket`, all contents by both.
block_hash hash_of(std::uint8_t bucket, std::uint8_t content) {
  block_hash hash{};
  hash[0] = bucket;
  hash[31] = content;
  return hash;
}

TEST(prefix_index, tells_contents_of_one_bucket_apart) {
  block_entries entries(8);
  prefix_index index(entries);
  index.insert(3, hash_of(1, 1));
  index.insert(5, hash_of(1, 2));
  EXPECT_EQ(index.find(hash_of(1, 1)), 3);
  EXPECT_EQ(index.find(hash_of(1, 2)), 5);
  EXPECT_EQ(index.find(hash_of(1, 3)), std::nullopt);
  EXPECT_EQ(index.find(hash_of(2, 1)), std::nullopt);
  EXPECT_EQ(index.twin_of(3), std::nullopt);
  index.erase(3);
  EXPECT_EQ(index.find(hash_of(1, 1)), std::nullopt);
  EXPECT_EQ(index.find(hash_of(1, 2)), 5);
  EXPECT_EQ(index.check(), "");
}

TEST(prefix_index, holds_one_content_in_several_blocks) {
  block_entries entries(4);
  prefix_index index(entries);
  index.insert(0, hash_of(7, 7));
  index.insert(2, hash_of(7, 7));
  EXPECT_EQ(index.twin_of(0), 2);
  EXPECT_EQ(index.twin_of(2), 0);
  index.erase(2);
  EXPECT_EQ(index.find(hash_of(7, 7)), 0);
  index.clear();
  EXPECT_EQ(index.find(hash_of(7, 7)), std::nullopt);
  EXPECT_FALSE(index.contains(0));
  EXPECT_EQ(index.size(), 0);
  EXPECT_EQ(index.check(), "");
}

TEST(prefix_index, is_a_map_like_any_other) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const std::int32_t size = 1 + static_cast<std::int32_t>(random() % 12);
    block_entries entries(size);
    prefix_index index(entries);
    std::map<std::int32_t, block_hash> expected;
    for (int i = 0; i < 400; ++i) {
      const auto block = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(size));
      const block_hash hash =
          hash_of(static_cast<std::uint8_t>(random() % 3), static_cast<std::uint8_t>(random() % 3));
      if (expected.erase(block) > 0) {
        index.erase(block);
      } else {
        index.insert(block, hash);
        expected[block] = hash;
      }
      ASSERT_EQ(index.check(), "") << "seed " << seed;
      ASSERT_EQ(index.size(), static_cast<std::int32_t>(expected.size())) << "seed " << seed;
      const auto found = index.find(hash);
      const bool known = std::any_of(expected.begin(), expected.end(),
                                     [&](const auto& each) { return each.second == hash; });
      ASSERT_EQ(found.has_value(), known) << "seed " << seed;
      if (found) {
        ASSERT_EQ(expected[*found], hash) << "seed " << seed;
      }
      for (const auto& [each, content] : expected) {
        const auto twin = index.twin_of(each);
        const auto same = std::count_if(expected.begin(), expected.end(),
                                        [&](const auto& other) { return other.second == content; });
        ASSERT_EQ(twin.has_value(), same > 1) << "seed " << seed;
        if (twin) {
          ASSERT_TRUE(*twin != each && expected.at(*twin) == content) << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe
