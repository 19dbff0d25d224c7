#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "runtime/kv_cache/kv_cache_manager.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;
using table = std::vector<std::int32_t>;

tokens numbers(std::int32_t count, token_id first = 0) {
  tokens ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

tokens join(tokens left, const tokens& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Drives a cache the way a scheduler does, one step in flight at most.
struct prefix_caching : testing::Test {
  kv_cache_manager cache{kv_cache_options{32, 4}};
  step_reservation reservation;
  std::uint64_t step = 0;

  void TearDown() override { EXPECT_EQ(cache.check(), ""); }

  void use(const kv_cache_options& options) {
    std::destroy_at(&cache);
    std::construct_at(&cache, options);
  }

  sequence_grant reserve(request_id id, std::int32_t num_tokens, std::int32_t num_stored = 0,
                         std::int32_t keep_free = 0) {
    cache.reserve_step({++step, {{id, num_tokens, keep_free, num_stored}}}, reservation);
    return reservation.sequences[0];
  }
  table granted() const {
    const auto blocks = reservation.sequences[0].table;
    return {blocks.begin(), blocks.end()};
  }

  // A prompt in one step, up to the commit of its first output token.
  sequence_grant prefill(request_id id, const tokens& prompt, const prefix_scope& scope = {},
                         token_id output = 1000) {
    cache.add_sequence(id, prompt, scope);
    const sequence_grant grant = reserve(id, static_cast<std::int32_t>(prompt.size()));
    EXPECT_TRUE(grant.granted);
    commit(id, output);
    return grant;
  }
  void commit(request_id id, token_id output) {
    cache.commit_step(step);
    cache.append_tokens(id, tokens{output});
    cache.index_blocks();
  }
  // Generates `output`, then ends: the last of it is never computed.
  void converse(request_id id, const tokens& prompt, const tokens& output) {
    prefill(id, prompt, {}, output[0]);
    for (std::size_t i = 1; i < output.size(); ++i) {
      const auto length = static_cast<std::int32_t>(prompt.size() + i);
      reserve(id, length, length - 1);
      commit(id, output[i]);
    }
    cache.release(id, step);
  }
};

TEST_F(prefix_caching, three_of_four_blocks_are_reused_with_two_holders_each) {
  const tokens system = numbers(12);
  prefill(1, join(system, numbers(4, 100)));
  const table first = granted();
  const sequence_grant second = prefill(2, join(system, numbers(4, 200)));
  EXPECT_EQ(second.num_cached, 12);
  ASSERT_EQ(granted().size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(granted()[i], first[i]);
    EXPECT_EQ(cache.references(first[i]), 2);
  }
  EXPECT_NE(granted()[3], first[3]);
  EXPECT_EQ(cache.references(granted()[3]), 1);
  EXPECT_EQ(cache.counts().queries, 32U);
  EXPECT_EQ(cache.counts().hits, 12U);
  EXPECT_EQ(cache.counts().cached_prompt_tokens, 12U);
}

TEST_F(prefix_caching, the_last_token_is_always_computed_and_only_full_blocks_are_shared) {
  const tokens prompt = numbers(16);
  prefill(1, prompt);
  const table first = granted();
  EXPECT_EQ(prefill(2, prompt).num_cached, 12) << "16 tokens fill 4 blocks, but one token must be left";
  EXPECT_NE(granted()[3], first[3]) << "nobody writes a block that others read";
  EXPECT_EQ(prefill(3, numbers(17)).num_cached, 16);
  EXPECT_EQ(prefill(4, numbers(15)).num_cached, 12);
  EXPECT_EQ(prefill(5, numbers(4)).num_cached, 0);
  EXPECT_EQ(prefill(6, numbers(1)).num_cached, 0);
}

TEST_F(prefix_caching, a_conversation_reuses_its_whole_history_turn_after_turn) {
  tokens history;
  for (std::int32_t turn = 0; turn < 4; ++turn) {
    const auto computed = static_cast<std::int32_t>(history.size()) - 1;
    history = join(history, numbers(7, 100 * turn));
    const tokens output = numbers(10, 5000 + 100 * turn);
    cache.add_sequence(99, history, {});
    EXPECT_EQ(cache.cached_tokens(99), turn == 0 ? 0 : computed / 4 * 4) << "turn " << turn;
    cache.release(99, 0);
    converse(static_cast<request_id>(turn + 1), history, output);
    history = join(history, output);
    EXPECT_EQ(cache.free_blocks(), 32);
  }
}

TEST_F(prefix_caching, salts_adapters_and_extra_keys_share_with_their_equals_only) {
  const tokens prompt = numbers(13);
  request_id id = 1;
  for (const prefix_scope& scope :
       {prefix_scope{}, {"red"}, {"blue"}, {"", "red"}, {"", "", "red"}, {"red", "red"}}) {
    EXPECT_EQ(prefill(id, prompt, scope).num_cached, 0);
    EXPECT_EQ(prefill(id + 1, prompt, scope).num_cached, 12);
    id += 2;
  }
}

TEST_F(prefix_caching, an_equal_block_behind_another_prefix_is_another_block) {
  prefill(1, numbers(9));
  EXPECT_EQ(prefill(2, join(numbers(4, 50), numbers(5, 4))).num_cached, 0);
}

TEST_F(prefix_caching, a_block_is_found_from_the_commit_of_its_step_on_and_not_before) {
  const tokens prompt = numbers(9);
  cache.add_sequence(1, prompt, {});
  reserve(1, 9);
  cache.add_sequence(2, prompt, {});
  EXPECT_EQ(cache.cached_tokens(2), 0);
  cache.commit_step(step);
  cache.append_tokens(1, tokens{7});
  EXPECT_EQ(cache.cached_tokens(2), 8);
}

TEST_F(prefix_caching, chunks_of_a_long_prompt_are_found_before_its_end) {
  const tokens prompt = numbers(40);
  cache.add_sequence(1, prompt, {});
  cache.add_sequence(2, prompt, {});
  reserve(1, 40);  // computes 10
  EXPECT_EQ(cache.cached_tokens(2), 0);
  cache.commit_step(step);
  reserve(1, 20, 10);
  EXPECT_EQ(cache.cached_tokens(2), 8);
  reserve(1, 30, 10);  // planned while the step before runs: its tokens are not stored yet
  EXPECT_EQ(cache.cached_tokens(2), 8);
  cache.commit_step(step - 1);
  reserve(1, 40, 20);
  EXPECT_EQ(cache.cached_tokens(2), 20);
}

TEST_F(prefix_caching, nothing_of_a_failed_step_is_ever_found) {
  const tokens prompt = numbers(40);
  cache.add_sequence(1, prompt, {});
  cache.add_sequence(2, prompt, {});
  reserve(1, 40);
  cache.commit_step(step);
  reserve(1, 20, 10);
  reserve(1, 30, 10);
  cache.commit_step(step - 1);  // failed: the request ends
  cache.release(1, step);
  cache.commit_step(step);
  EXPECT_EQ(cache.cached_tokens(2), 8);
}

TEST_F(prefix_caching, a_prompt_with_one_output_token_is_found) {
  prefill(1, numbers(9));
  cache.release(1, step);
  EXPECT_EQ(prefill(2, numbers(9)).num_cached, 8);
}

TEST_F(prefix_caching, blocks_of_output_are_found_after_they_are_indexed_or_released) {
  const tokens prompt = numbers(5);
  prefill(1, prompt, {}, 5);
  for (std::int32_t length = 6; length <= 8; ++length) {
    reserve(1, length, length - 1);
    cache.commit_step(step);
    cache.append_tokens(1, tokens{length});
  }
  cache.add_sequence(2, numbers(12), {});
  EXPECT_EQ(cache.cached_tokens(2), 4);
  cache.index_blocks();
  EXPECT_EQ(cache.cached_tokens(2), 8);
  for (std::int32_t length = 9; length <= 12; ++length) {
    reserve(1, length, length - 1);
    cache.commit_step(step);
    cache.append_tokens(1, tokens{length});
  }
  cache.release(1, step);
  cache.add_sequence(3, numbers(14), {});
  EXPECT_EQ(cache.cached_tokens(3), 12);
}

TEST_F(prefix_caching, evicts_whole_ends_first_so_that_prefixes_outlive_their_continuations) {
  use({8, 4});
  converse(1, numbers(17), {1});      // 4 cached blocks, 1 free
  converse(2, numbers(9, 500), {1});  // 2 more, used later
  EXPECT_EQ(cache.cached_blocks(), 6);
  reserve(3, 3 * 4);  // the two free ones, and one cached
  cache.add_sequence(4, numbers(17), {});
  cache.add_sequence(5, numbers(9, 500), {});
  EXPECT_EQ(cache.cached_tokens(4), 12);
  EXPECT_EQ(cache.cached_tokens(5), 8);
  reserve(3, 5 * 4);
  EXPECT_EQ(cache.cached_tokens(4), 4);
  EXPECT_EQ(cache.cached_tokens(5), 8);
  reserve(3, 7 * 4);
  EXPECT_EQ(cache.cached_tokens(4), 0);
  EXPECT_EQ(cache.cached_tokens(5), 4);
}

TEST_F(prefix_caching, a_hit_makes_a_prefix_the_last_to_be_evicted) {
  use({6, 4});
  converse(1, numbers(9), {1});
  converse(2, numbers(9, 500), {1});
  converse(3, numbers(9), {1});
  reserve(4, 4 * 4);
  cache.add_sequence(5, numbers(9), {});
  EXPECT_EQ(cache.cached_tokens(5), 8);
}

TEST_F(prefix_caching, a_grant_never_evicts_what_it_has_just_found) {
  use({5, 4});
  converse(1, numbers(17), {1});
  cache.add_sequence(2, numbers(18), {});
  EXPECT_EQ(reserve(2, 18).num_cached, 16);
  EXPECT_EQ(reservation.free_blocks, 0);
}

TEST_F(prefix_caching, what_is_cached_counts_as_free_until_it_is_found) {
  use({6, 4});
  converse(1, numbers(17), {1});
  EXPECT_EQ(cache.free_blocks(), 6);
  cache.add_sequence(2, numbers(18), {});
  const sequence_grant refused = reserve(2, 18, 0, 2);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.blocks_needed, 5) << "4 cached blocks and 1 new one leave 1 of 6 free, not 2";
  EXPECT_EQ(cache.check(), "");
  EXPECT_EQ(reserve(2, 18, 0, 1).num_cached, 16);
}

TEST_F(prefix_caching, blocks_that_others_hold_cost_nothing) {
  use({6, 4});
  prefill(1, numbers(17));
  cache.add_sequence(2, numbers(17), {});
  EXPECT_TRUE(reserve(2, 17).granted) << "4 shared and the last free one";
  EXPECT_EQ(cache.free_blocks(), 0);
}

TEST_F(prefix_caching, asking_again_in_the_same_step_says_again_what_was_found) {
  prefill(1, numbers(9));
  cache.add_sequence(2, numbers(9), {});
  ++step;
  for (int again = 0; again < 2; ++again) {
    cache.reserve_step({step, {{2, 9}}}, reservation);
    EXPECT_EQ(reservation.sequences[0].num_cached, 8);
  }
  EXPECT_EQ(reserve(2, 10, 9).num_cached, 0);
  EXPECT_EQ(cache.counts().hits, 8U);
}

TEST_F(prefix_caching, a_preempted_sequence_finds_its_own_blocks_again_and_is_counted_once) {
  prefill(1, numbers(11), {}, 11);
  for (std::int32_t length = 12; length <= 14; ++length) {
    reserve(1, length, length - 1);
    commit(1, length);
  }
  cache.preempt(1, step);
  EXPECT_EQ(cache.free_blocks(), 32);
  EXPECT_EQ(cache.cached_tokens(1), 12);
  EXPECT_EQ(reserve(1, 15).num_cached, 12);
  EXPECT_EQ(cache.counts().queries, 11U);
  EXPECT_EQ(cache.counts().hits, 0U);
}

TEST_F(prefix_caching, a_token_from_before_a_preemption_proves_nothing_about_the_blocks_after_it) {
  cache.add_sequence(1, numbers(9), {});
  reserve(1, 9);
  cache.preempt(1, step);
  const std::uint64_t before = step;
  reserve(1, 9);
  cache.commit_step(before);
  cache.append_tokens(1, tokens{9});
  cache.index_blocks();
  cache.add_sequence(2, numbers(9), {});
  EXPECT_EQ(cache.cached_tokens(2), 0) << "the second grant's step is still under way";
  cache.commit_step(step);
  cache.index_blocks();
  EXPECT_EQ(cache.cached_tokens(2), 0) << "it may have computed a part only";
  cache.append_tokens(1, tokens{10});
  EXPECT_EQ(cache.cached_tokens(2), 8);
}

TEST_F(prefix_caching, abort_with_steps_in_flight_keeps_the_blocks_until_they_are_over) {
  prefill(1, numbers(9));
  reserve(1, 10, 9);
  reserve(1, 11, 10);  // two steps in flight
  cache.release(1, step);
  EXPECT_EQ(cache.free_blocks(), 29);
  cache.commit_step(step - 1);
  EXPECT_EQ(cache.free_blocks(), 29);
  EXPECT_EQ(prefill(2, numbers(9)).num_cached, 8) << "and its prefix can be shared all the while";
  cache.commit_step(step);
  EXPECT_EQ(cache.free_blocks(), 29);
  cache.release(2, step);
  EXPECT_EQ(cache.free_blocks(), 32);
}

TEST_F(prefix_caching, equal_prompts_computed_side_by_side_leave_one_cached_copy) {
  cache.add_sequence(1, numbers(9), {});
  cache.add_sequence(2, numbers(9), {});
  cache.reserve_step({++step, {{1, 9}, {2, 9}}}, reservation);
  cache.commit_step(step);
  for (const request_id id : {1U, 2U}) {
    cache.append_tokens(id, tokens{9});
    EXPECT_EQ(cache.check(), "");
  }
  cache.release(1, step);
  EXPECT_EQ(cache.cached_blocks(), 0);
  cache.release(2, step);
  EXPECT_EQ(cache.cached_blocks(), 2);
}

TEST_F(prefix_caching, reset_forgets_what_is_cached_and_what_runs) {
  converse(1, numbers(9), {1});
  EXPECT_TRUE(cache.reset_prefix_cache());
  EXPECT_EQ(cache.cached_blocks(), 0);
  EXPECT_EQ(prefill(2, numbers(9)).num_cached, 0);
  EXPECT_FALSE(cache.reset_prefix_cache()) << "a sequence goes on with blocks from before";
  reserve(2, 10, 9);
  commit(2, 55);
  cache.release(2, step);
  EXPECT_EQ(cache.cached_blocks(), 0);
  EXPECT_EQ(prefill(3, numbers(9)).num_cached, 0);
  EXPECT_EQ(prefill(4, numbers(9)).num_cached, 8);
}

TEST_F(prefix_caching, can_be_switched_off) {
  use({32, 4, false});
  EXPECT_EQ(prefill(1, numbers(9)).num_cached, 0);
  EXPECT_EQ(prefill(2, numbers(9)).num_cached, 0);
  cache.release(1, step);
  cache.release(2, step);
  EXPECT_EQ(cache.cached_blocks(), 0);
  EXPECT_EQ(cache.counts().queries, 0U);
  EXPECT_EQ(cache.free_blocks(), 32);
}

TEST_F(prefix_caching, a_sequence_never_added_is_not_cached_and_finds_nothing) {
  prefill(1, numbers(9));
  EXPECT_EQ(reserve(2, 9).num_cached, 0);
  cache.append_tokens(2, tokens{1});
  cache.index_blocks();
  cache.release(2, step);
  cache.commit_step(step);
  EXPECT_EQ(cache.counts().queries, 9U);
}

TEST_F(prefix_caching, answers_prefix_queries_with_the_step) {
  prefill(1, numbers(17));
  cache.add_sequence(2, numbers(12), {});
  cache.add_sequence(3, numbers(12, 700), {});
  cache.reserve_step({++step, {{1, 18, 0, 17}}, {2, 3, 4}}, reservation);
  EXPECT_EQ(reservation.cached_lengths, (std::vector<std::int32_t>{8, 0, 0}));
}

TEST_F(prefix_caching, at_most_one_block_less_a_token_of_a_sequence_is_idle) {
  for (const std::int32_t block_size : {1, 4, 16, 32}) {
    use({64, block_size});
    step = 0;
    prefill(1, numbers(1));
    for (std::int32_t length = 2; length <= 64; ++length) {
      const sequence_grant grant = reserve(1, length, length - 1);
      commit(1, length);
      const auto room = static_cast<std::int32_t>(grant.table.size()) * block_size;
      EXPECT_GE(room, length);
      EXPECT_LT(room - length, block_size);
    }
  }
}

TEST_F(prefix_caching, hashes_take_less_than_a_hundredth_of_the_kv_memory) {
  // SmolLM2-135M in int8: 30 layers, 3 KV heads of 64 values and a scale, keys and values.
  constexpr std::size_t bytes_per_token = 30U * 3U * (64U + 2U) * 2U;
  use({2048, 16});
  std::int32_t length = 1000;
  request_id id = 1;
  for (; cache.free_blocks() >= 63; ++id) prefill(id, numbers(length, static_cast<token_id>(1000 * id)));
  EXPECT_LT(cache.hash_bytes() * 100, 2048U * 16U * bytes_per_token);
  EXPECT_GE(cache.hash_bytes(), 2U * 2000U * 32U) << "both the index and the sequences keep hashes";
}

TEST_F(prefix_caching, no_room_is_kept_for_the_tokens_of_a_prompt_that_are_hashed) {
  use({64, 16});
  const std::size_t index = cache.hash_bytes();
  constexpr std::int32_t length = 100'000;
  cache.add_sequence(1, numbers(length), {});
  EXPECT_LT(cache.hash_bytes() - index, 2U * 32U * (length / 16 + 1)) << "that of the hashes alone";
}

}  // namespace
}  // namespace troupe
