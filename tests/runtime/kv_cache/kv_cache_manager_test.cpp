#include "runtime/kv_cache/kv_cache_manager.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/runtime/kv_cache/reserved_table_fixture.hpp"

namespace troupe {
namespace {

TEST(kv_cache_manager, grants_the_blocks_that_the_tokens_need_and_no_more) {
  kv_cache_manager cache({10, 4});
  const auto reservation = cache.reserve_step({1, {{7, 1}, {8, 4}, {9, 5}}});
  EXPECT_EQ(reservation.step, 1U);
  EXPECT_EQ(table_of(reservation, 0).size(), 1U);
  EXPECT_EQ(table_of(reservation, 1).size(), 1U);
  EXPECT_EQ(table_of(reservation, 2).size(), 2U);
  EXPECT_EQ(reservation.free_blocks, 6);
  EXPECT_DOUBLE_EQ(cache.usage(), 0.4);
}

TEST(kv_cache_manager, asking_twice_or_for_less_costs_nothing_and_asking_for_more_extends_the_table) {
  kv_cache_manager cache({10, 4});
  const auto first = table_of(cache.reserve_step({1, {{7, 6}}}), 0);
  EXPECT_EQ(table_of(cache.reserve_step({1, {{7, 6}}}), 0), first);
  EXPECT_EQ(table_of(cache.reserve_step({2, {{7, 2}}}), 0), first);
  EXPECT_EQ(cache.free_blocks(), 8);
  const auto longer = table_of(cache.reserve_step({3, {{7, 9}}}), 0);
  ASSERT_EQ(longer.size(), 3U);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
}

TEST(kv_cache_manager, refuses_everything_after_the_first_refusal_and_says_what_was_missing) {
  kv_cache_manager cache({4, 4});
  cache.reserve_step({1, {{1, 4}}});
  const auto reservation = cache.reserve_step({2, {{1, 8}, {2, 12}, {3, 1}, {1, 4}}});
  EXPECT_TRUE(reservation.sequences[0].granted);
  EXPECT_FALSE(reservation.sequences[1].granted);
  EXPECT_EQ(reservation.sequences[1].blocks_needed, 3);
  EXPECT_FALSE(reservation.sequences[2].granted);
  EXPECT_EQ(reservation.sequences[2].blocks_needed, 1);
  EXPECT_FALSE(reservation.sequences[3].granted);
  EXPECT_EQ(reservation.sequences[3].blocks_needed, 0);
  EXPECT_EQ(reservation.free_blocks, 2);
  EXPECT_TRUE(cache.consistent());
}

TEST(kv_cache_manager, a_refused_sequence_keeps_what_it_held_and_gets_nothing) {
  kv_cache_manager cache({2, 4});
  const auto held = table_of(cache.reserve_step({1, {{1, 4}}}), 0);
  EXPECT_FALSE(cache.reserve_step({2, {{1, 12}}}).sequences[0].granted);
  EXPECT_EQ(cache.free_blocks(), 1);
  EXPECT_EQ(table_of(cache.reserve_step({3, {{1, 4}}}), 0), held);
}

TEST(kv_cache_manager, blocks_outlive_the_step_that_may_write_them) {
  kv_cache_manager cache({4, 4});
  cache.reserve_step({1, {{1, 8}, {2, 4}}});
  cache.release(1, 1);
  EXPECT_EQ(cache.free_blocks(), 1);
  EXPECT_TRUE(cache.consistent());
  cache.commit_step(1);
  EXPECT_EQ(cache.free_blocks(), 3);
  cache.release(2, 1);  // its last step is over
  EXPECT_EQ(cache.free_blocks(), 4);
  EXPECT_TRUE(cache.consistent());
}

TEST(kv_cache_manager, a_name_may_come_again_while_its_old_blocks_are_pending) {
  kv_cache_manager cache({4, 4});
  const auto old_table = table_of(cache.reserve_step({5, {{1, 8}}}), 0);
  cache.release(1, 5);
  const auto new_table = table_of(cache.reserve_step({6, {{1, 8}}}), 0);
  for (const std::int32_t block : new_table) {
    EXPECT_EQ(std::count(old_table.begin(), old_table.end(), block), 0);
  }
  cache.commit_step(5);
  EXPECT_EQ(cache.free_blocks(), 2);
  EXPECT_TRUE(cache.consistent());
}

TEST(kv_cache_manager, ignores_unknown_names_and_steps_that_come_late) {
  kv_cache_manager cache({2, 4});
  cache.release(9, 0);
  cache.commit_step(3);
  cache.commit_step(1);
  cache.reserve_step({4, {{1, 4}}});
  cache.release(1, 3);
  cache.release(1, 3);
  EXPECT_EQ(cache.free_blocks(), 2);
  EXPECT_TRUE(cache.consistent());
}

// Against a plain model: which blocks each name holds, which are pending, which are free.
TEST(kv_cache_manager, never_gives_a_block_to_two_and_never_loses_one) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int32_t most) {
      return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    const std::int32_t num_blocks = 1 + pick(30);
    kv_cache_manager cache({num_blocks, 1 + pick(4)});
    std::map<request_id, std::vector<std::int32_t>> held;
    std::multimap<std::uint64_t, std::vector<std::int32_t>> pending;
    std::uint64_t committed = 0;
    for (std::uint64_t step = 1; step < 100; ++step) {
      step_demand demand{step, {}};
      for (int i = pick(4); i > 0; --i)
        demand.sequences.push_back({static_cast<request_id>(pick(9)), 1 + pick(20)});
      const auto reservation = cache.reserve_step(demand);
      for (std::size_t i = 0; i < demand.sequences.size(); ++i) {
        if (reservation.sequences[i].granted) held[demand.sequences[i].id] = table_of(reservation, i);
      }
      const auto id = static_cast<request_id>(pick(9));
      const std::uint64_t last_step = step - static_cast<std::uint64_t>(pick(1));
      cache.release(id, last_step);
      if (held.contains(id)) pending.emplace(last_step, held[id]);
      held.erase(id);
      if (pick(1) == 0) {
        committed = step;
        cache.commit_step(step);
      }
      pending.erase(pending.begin(), pending.upper_bound(committed));

      std::set<std::int32_t> taken;
      std::size_t count = 0;
      for (const auto& [name, blocks] : held)
        taken.insert(blocks.begin(), blocks.end()), count += blocks.size();
      for (const auto& [name, blocks] : pending)
        taken.insert(blocks.begin(), blocks.end()), count += blocks.size();
      ASSERT_EQ(taken.size(), count) << "a block has two holders, seed " << seed;
      ASSERT_EQ(cache.free_blocks(), num_blocks - static_cast<std::int32_t>(count)) << "seed " << seed;
      ASSERT_TRUE(cache.consistent()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace troupe
