// A draft model whose own steps find no memory on the device: that costs drafts, and no request anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/actors/drafter/draft_model_fixture.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"
#include "tests/support/seeds.hpp"

namespace troupe::test {
namespace {

// Of the draft model's steps some run, some lack memory, and all others run.
draft_setup lacking(int failing_steps, int good_steps = 30) {
  return {.good_steps = good_steps,
          .failing_steps = failing_steps,
          .fault = draft_fault::lacks_memory,
          .warm_up = warm_up_mode::skip};
}

std::vector<std::vector<token_id>> answers(stage& stage) {
  std::vector<std::shared_ptr<client>> all;
  for (std::int32_t i = 0; i < 4; ++i) {
    sampling_params sampling = greedy(180);
    sampling.ignore_eos = true;
    all.push_back(
        stage.ask(std::string(static_cast<std::size_t>(10 + 9 * i), static_cast<char>('c' + i)), sampling));
  }
  stage.run();
  std::vector<std::vector<token_id>> tokens;
  for (const auto& each : all) {
    EXPECT_EQ(each->ends.size(), 1U);
    tokens.push_back(each->tokens);
  }
  return tokens;
}

// What is skipped takes some rounds of answers.
template <class Condition>
void answer_until(stage& stage, Condition is_met) {
  for (int round = 0; round < 300 && !is_met(); ++round) answers(stage);
  EXPECT_TRUE(is_met());
}

double drafted(stage& stage) { return stage.metric("vllm:spec_decode_num_draft_tokens_total"); }

double rejected(stage& stage) {
  return drafted(stage) - stage.metric("vllm:spec_decode_num_accepted_tokens_total");
}

TEST(DraftShortage, ChangesNoToken) {
  std::weak_ptr<draft_model> drafts;
  stage plain(draft_model_setup({}, drafts));
  stage lacking_stage(draft_model_setup(lacking(3), drafts));
  EXPECT_EQ(answers(lacking_stage), answers(plain));
}

// The draft model is the model itself: each of its tokens is right if what it stores is.
TEST(DraftShortage, IsFollowedByDraftsThatAreRight) {
  for (const int failing_steps : {1, 3, 5}) {
    SCOPED_TRACE(failing_steps);
    const net::testing::captured_log log;
    std::weak_ptr<draft_model> drafts;
    stage stage(draft_model_setup(lacking(failing_steps), drafts));
    answer_until(stage, [&] {
      return log.count("computes anew what it has stored") == static_cast<std::size_t>(failing_steps);
    });
    const double at_the_last = drafted(stage);
    answer_until(stage, [&] { return drafted(stage) > at_the_last; });
    EXPECT_FALSE(drafts.expired());
    EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), 0);
    const double drafted_before = drafted(stage);
    const double rejected_before = rejected(stage);
    answers(stage);
    EXPECT_GT(drafted(stage), drafted_before + 4 * 100);
    EXPECT_EQ(rejected(stage), rejected_before);
    stage.expect_idle();
  }
}

// What a step without memory was to store is not there, however long the prompt.
TEST(DraftShortage, OfAPromptHasItComputedAnew) {
  std::weak_ptr<draft_model> drafts;
  stage stage(draft_model_setup(lacking(1, 0), drafts));
  answers(stage);
  EXPECT_GT(drafted(stage), 4 * 100);
  EXPECT_EQ(rejected(stage), 0);
  stage.expect_idle();
}

// Nothing is drafted for who wants a single token, which is no sign of memory.
TEST(DraftShortage, BesideRequestsWithoutDraftsEndsTheDraftsAllTheSame) {
  const net::testing::captured_log log;
  std::weak_ptr<draft_model> drafts;
  stage stage(draft_model_setup(lacking(1 << 30), drafts));
  answer_until(stage, [&] {
    for (int i = 0; i < 20; ++i) stage.ask("short", 1);
    stage.run();
    return drafts.expired();
  });
  EXPECT_EQ(log.count("drafts no more"), 1U);
}

// Its steps that lacked memory say nothing of those that requests will have.
TEST(DraftShortage, InTheWarmUpKeepsNoProposalBack) {
  std::weak_ptr<draft_model> drafts;
  draft_setup setup = lacking(4 + 9, 0);  // and the cache has given all that it may by then
  setup.warm_up = warm_up_mode::full;
  stage stage(draft_model_setup(setup, drafts));
  stage.run();
  answers(stage);
  EXPECT_GT(drafted(stage), 4 * 100);
}

// The draft model goes on with the next runner, which is not told what the one before has not heard.
TEST(DraftShortage, OfTheModelLeavesNoSequenceOfTheDraftModelBehind) {
  const auto [first, count] = seeds_to_run(40);
  double shortages = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::weak_ptr<draft_model> drafts;
    draft_setup setup{.warm_up = warm_up_mode::skip,
                      .target_lacks_every = 5 + static_cast<int>(random() % 9)};
    stage stage(draft_model_setup(setup, drafts));
    std::vector<std::shared_ptr<client>> clients;
    for (int i = 0; i < 6; ++i)
      clients.push_back(stage.ask(std::string(3 + random() % 20, 'a'), 1 + static_cast<int>(random() % 30)));
    while (stage.run_any(random())) {
    }
    stage.expect_idle();
    shortages += stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}});
    ASSERT_FALSE(drafts.expired());
    EXPECT_EQ(drafts.lock()->num_requests(), 0U);
  }
  EXPECT_GT(shortages, static_cast<double>(count));
}

TEST(DraftShortage, AgainAndAgainEndsTheDrafts) {
  const net::testing::captured_log log;
  std::weak_ptr<draft_model> drafts;
  stage stage(draft_model_setup(lacking(1 << 30), drafts));
  answer_until(stage, [&] { return drafts.expired(); });
  EXPECT_EQ(log.count("computes anew what it has stored"), 5U) << "more lines at once say nothing new";
  EXPECT_EQ(log.count("drafts no more"), 1U);
  EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), 0);
  answers(stage);
  stage.expect_idle();
}

// The model's gives a sixteenth at once and a quarter at most; what the draft model lacks then it does
// without.
TEST(DraftShortage, InTheWarmUpMakesTheKvCacheSmaller) {
  constexpr int all_blocks = 200;
  for (const int failing_steps : {0, 2, 4, 6}) {
    SCOPED_TRACE(failing_steps);
    const int shrinks = std::min(failing_steps, 4);
    const net::testing::captured_log log;
    std::weak_ptr<draft_model> drafts;
    draft_setup setup = lacking(failing_steps, 0);
    setup.num_blocks = all_blocks;
    setup.warm_up = warm_up_mode::full;
    stage stage(draft_model_setup(setup, drafts));
    stage.run();
    EXPECT_TRUE(stage.status().ready);
    EXPECT_EQ(stage.roster().num_blocks, all_blocks - shrinks * (all_blocks / 16));
    EXPECT_EQ(log.count("finds no memory on the device: the KV cache shrinks"),
              static_cast<std::size_t>(shrinks));
    EXPECT_EQ(log.count("left out"), 0U);
    EXPECT_FALSE(drafts.expired());
    answer_until(stage, [&] { return drafted(stage) > 0; });
  }
}

}  // namespace
}  // namespace troupe::test
