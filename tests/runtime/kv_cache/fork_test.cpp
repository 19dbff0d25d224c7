#include <gtest/gtest.h>

#include <numeric>

#include "tests/runtime/kv_cache/reserved_table_fixture.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

// Request 1 has computed a prompt and sampled its first token; 2 and 3 are its forks.
struct fork : testing::TestWithParam<bool> {
  kv_cache_manager cache{kv_cache_options{32, 4, GetParam()}};
  step_reservation reservation;
  std::vector<std::int32_t> parent;

  void TearDown() override { EXPECT_EQ(cache.check(), ""); }

  void prefill(std::int32_t length) {
    tokens prompt(static_cast<std::size_t>(length));
    std::iota(prompt.begin(), prompt.end(), 0);
    for (const request_id id : {1U, 2U, 3U}) cache.add_sequence(id, prompt, {});
    cache.fork(1, 2);
    cache.fork(1, 3);
    cache.reserve_step({1, {{1, length}}}, reservation);
    parent = table_of(reservation, 0);
    cache.commit_step(1);
    cache.append_tokens(1, tokens{100});
  }
};
INSTANTIATE_TEST_SUITE_P(prefix_caching, fork, testing::Bool());

TEST_P(fork, shares_full_blocks_and_copies_the_one_that_it_will_write) {
  prefill(10);
  EXPECT_EQ(cache.cached_tokens(2), 9);
  cache.reserve_step({2, {{1, 11, 0, 10}, {2, 10}, {3, 10}}}, reservation);
  ASSERT_EQ(reservation.copies.size(), 2U);
  for (const std::size_t child : {1U, 2U}) {
    const auto table = table_of(reservation, child);
    EXPECT_EQ(reservation.sequences[child].num_cached, 9) << "all but the last token";
    ASSERT_EQ(table.size(), 3U);
    EXPECT_EQ(table[0], parent[0]);
    EXPECT_EQ(table[1], parent[1]);
    EXPECT_NE(table[2], parent[2]);
    EXPECT_EQ(reservation.copies[child - 1].from, parent[2]);
    EXPECT_EQ(reservation.copies[child - 1].to, table[2]);
  }
  EXPECT_NE(table_of(reservation, 1)[2], table_of(reservation, 2)[2]);
  EXPECT_EQ(cache.references(parent[0]), 3);
  EXPECT_EQ(cache.free_blocks(), 32 - 5);
  EXPECT_EQ(cache.counts().cached_prompt_tokens, 18U);
  EXPECT_EQ(cache.counts().hits, GetParam() ? 16U : 0U) << "what was copied the prefix cache did not have";
}

TEST_P(fork, needs_no_copy_where_a_block_begins) {
  prefill(9);
  cache.reserve_step({2, {{2, 9}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, 8);
  EXPECT_TRUE(reservation.copies.empty());
}

TEST_P(fork, copies_a_full_last_block_because_its_last_token_is_computed_again) {
  prefill(8);
  cache.reserve_step({2, {{2, 8}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, 7);
  ASSERT_EQ(reservation.copies.size(), 1U);
  EXPECT_EQ(reservation.copies[0].from, parent[1]);
  EXPECT_EQ(table_of(reservation, 0)[0], parent[0]);
}

TEST_P(fork, never_shares_what_the_parent_has_generated) {
  prefill(9);
  for (std::int32_t length = 10; length < 20; ++length) {
    const auto step = static_cast<std::uint64_t>(length);
    cache.reserve_step({step, {{1, length, 0, length - 1}}}, reservation);
    cache.commit_step(step);
    cache.append_tokens(1, tokens{length});
    cache.index_blocks();
  }
  cache.reserve_step({20, {{2, 9}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, 8);
  EXPECT_EQ(reservation.sequences[0].table.size(), 3U);
}

TEST_P(fork, the_copied_block_is_held_until_the_copy_is_made) {
  prefill(10);
  cache.reserve_step({2, {{2, 10}}}, reservation);
  const std::int32_t from = reservation.copies[0].from;
  cache.release(1, 1);
  cache.release(2, 2);
  EXPECT_EQ(cache.references(from), 1);
  EXPECT_EQ(cache.check(), "");
  cache.commit_step(2);
  EXPECT_EQ(cache.references(from), 0);
  cache.release(3, 0);
  EXPECT_EQ(cache.free_blocks(), 32);
}

TEST_P(fork, a_copy_that_no_step_will_make_holds_nothing) {
  prefill(10);
  cache.reserve_step({2, {{2, 10}}}, reservation);
  ASSERT_EQ(reservation.copies.size(), 1U);
  cache.release(2, 0);  // ended before its first step was sent off
  EXPECT_EQ(cache.references(parent[2]), 1);
  cache.release(1, 1);
  cache.release(3, 0);
  EXPECT_EQ(cache.free_blocks(), 32);
}

TEST_P(fork, asking_again_in_the_same_step_names_the_copy_again) {
  prefill(10);
  for (int again = 0; again < 2; ++again) {
    cache.reserve_step({2, {{2, 10}}}, reservation);
    ASSERT_EQ(reservation.copies.size(), 1U);
    EXPECT_EQ(reservation.sequences[0].num_cached, 9);
    EXPECT_EQ(cache.references(reservation.copies[0].from), 2);
  }
  cache.commit_step(2);
  cache.append_tokens(2, tokens{7});
  cache.reserve_step({3, {{2, 11, 0, 10}}}, reservation);
  EXPECT_TRUE(reservation.copies.empty());
}

TEST_P(fork, a_copied_block_is_not_shared_before_the_copy_is_made) {
  prefill(10);
  cache.reserve_step({2, {{2, 10}}}, reservation);
  cache.release(1, 1);
  cache.fork(2, 3);
  cache.reserve_step({3, {{2, 11, 0, 9}}}, reservation);  // planned while step 2 runs
  EXPECT_EQ(cache.cached_tokens(3), 8);
  cache.commit_step(2);
  cache.reserve_step({3, {{2, 11, 0, 9}}}, reservation);
  EXPECT_EQ(cache.cached_tokens(3), 9);
}

TEST_P(fork, runs_alone_where_the_parent_is_gone) {
  prefill(10);
  cache.release(1, 1);
  cache.reserve_step({2, {{2, 10}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, GetParam() ? 8 : 0);
  EXPECT_TRUE(reservation.copies.empty());
}

TEST_P(fork, shares_nothing_that_is_not_stored_yet) {
  tokens prompt(10, 3);
  cache.add_sequence(1, prompt, {});
  cache.add_sequence(2, prompt, {});
  cache.fork(1, 2);
  cache.reserve_step({1, {{1, 10}, {2, 10}}}, reservation);
  EXPECT_EQ(reservation.sequences[1].num_cached, 0);
  EXPECT_EQ(cache.free_blocks(), 32 - 6);
}

TEST_P(fork, a_refused_fork_holds_nothing_and_forks_later) {
  prefill(10);
  cache.reserve_step({2, {{2, 10, 29}}}, reservation);
  EXPECT_FALSE(reservation.sequences[0].granted);
  EXPECT_EQ(reservation.sequences[0].blocks_needed, 1);
  EXPECT_EQ(cache.references(parent[0]), 1);
  EXPECT_EQ(cache.check(), "");
  cache.reserve_step({3, {{2, 10, 28}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, 9);
}

TEST_P(fork, of_a_parent_from_before_a_reset_is_not_found_by_others) {
  prefill(10);
  cache.reset_prefix_cache();
  cache.reserve_step({2, {{2, 10}}}, reservation);
  EXPECT_EQ(reservation.sequences[0].num_cached, 9);
  cache.commit_step(2);
  cache.append_tokens(2, tokens{7});
  cache.release(1, 2);
  cache.release(2, 2);
  EXPECT_EQ(cache.cached_tokens(3), 0);
}

}  // namespace
}  // namespace troupe
