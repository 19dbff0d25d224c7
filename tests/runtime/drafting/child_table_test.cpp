#include "runtime/drafting/child_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/support/dice.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

TEST(child_table, holds_what_a_map_holds) {
  const test::seed_range seeds = test::seeds_to_run(20);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    dice random(seed);
    child_table table(random.number());
    std::map<std::pair<std::int32_t, token_id>, std::int32_t> map;
    const std::int32_t keys = random.pick(2, 60);
    for (int step = 0; step < 4000; ++step) {
      const std::pair<std::int32_t, token_id> key{random.pick(0, keys), random.pick(0, keys)};
      const std::int32_t child = random.pick(1, 1 << 30);
      if (!map.contains(key)) {
        table.insert(key.first, key.second, child);
        map[key] = child;
      } else if (random.chance(20)) {
        table.replace(key.first, key.second, child);
        map[key] = child;
      } else {
        table.erase(key.first, key.second);
        map.erase(key);
      }
      const std::pair<std::int32_t, token_id> asked{random.pick(0, keys), random.pick(0, keys)};
      const auto expected = map.find(asked);
      ASSERT_EQ(table.find(asked.first, asked.second), expected == map.end() ? 0 : expected->second)
          << "seed " << seed << ", step " << step;
      ASSERT_EQ(table.size(), map.size());
    }
    for (const auto& [key, child] : map)
      ASSERT_EQ(table.find(key.first, key.second), child) << "seed " << seed;
  }
}

TEST(child_table, an_empty_one_finds_nothing) { EXPECT_EQ(child_table(0).find(0, 0), 0); }

}  // namespace
}  // namespace troupe
