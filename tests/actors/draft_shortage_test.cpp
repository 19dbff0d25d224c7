// A draft model whose own steps find no memory on the device: that costs drafts, and no request anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/draft_model_fixture.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"

namespace troupe::test {
namespace {

draft_setup lacking(int steps) {
  return {
      .steps = 30, .failing_steps = steps, .fault = draft_fault::lacks_memory, .warm_up = warm_up_mode::skip};
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

std::size_t lines_with(const net::testing::captured_log& log, const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : log.lines()) count += line.find(text) != line.npos ? 1 : 0;
  return count;
}

// A rest of the drafts takes some rounds of answers.
template <class Condition>
void answer_until(stage& stage, Condition is_met) {
  for (int round = 0; round < 300 && !is_met(); ++round) answers(stage);
  EXPECT_TRUE(is_met());
}

double drafted(stage& stage) { return stage.metric("vllm:spec_decode_num_draft_tokens_total"); }

// The draft model is the model itself: each of its tokens is right if what it stores is.
TEST(DraftShortage, CostsTheDraftsAtHandAlone) {
  std::weak_ptr<draft_model> drafts;
  stage plain(draft_model_setup({}, drafts));
  const auto expected = answers(plain);
  for (const std::size_t steps : {1U, 3U, 7U}) {
    SCOPED_TRACE(steps);
    const net::testing::captured_log log;
    stage stage(draft_model_setup(lacking(static_cast<int>(steps)), drafts));
    EXPECT_EQ(answers(stage), expected);
    answer_until(stage, [&] { return lines_with(log, "computes anew what it has stored") == steps; });
    const double before = drafted(stage);
    answer_until(stage, [&] { return drafted(stage) > before; });
    EXPECT_FALSE(drafts.expired());
    EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), 0);
    const double wrong = drafted(stage) - stage.metric("vllm:spec_decode_num_accepted_tokens_total");
    const double then = drafted(stage);
    EXPECT_EQ(answers(stage), expected);
    EXPECT_GT(drafted(stage) - then, 4 * 100) << "it drafts again";
    EXPECT_EQ(drafted(stage) - stage.metric("vllm:spec_decode_num_accepted_tokens_total"), wrong);
    stage.expect_idle();
  }
}

// What a step without memory was to store is not there, however long the prompt.
TEST(DraftShortage, OfAPromptHasItComputedAnew) {
  std::weak_ptr<draft_model> drafts;
  draft_setup setup = lacking(1);
  setup.steps = 0;
  stage stage(draft_model_setup(setup, drafts));
  answers(stage);
  EXPECT_GT(drafted(stage), 4 * 100);
  EXPECT_EQ(drafted(stage), stage.metric("vllm:spec_decode_num_accepted_tokens_total"));
  stage.expect_idle();
}

TEST(DraftShortage, AgainAndAgainEndsTheDrafts) {
  const net::testing::captured_log log;
  std::weak_ptr<draft_model> drafts;
  stage stage(draft_model_setup(lacking(1 << 30), drafts));
  answer_until(stage, [&] { return drafts.expired(); });
  EXPECT_EQ(lines_with(log, "computes anew what it has stored"), 7U);
  EXPECT_EQ(lines_with(log, "drafts no more"), 1U);
  EXPECT_EQ(stage.metric("troupe_actor_restarts_total", {{"actor", "model_runner"}}), 0);
  answers(stage);
  stage.expect_idle();
}

// The model's gives a quarter at most; what the draft model lacks even then it does without.
TEST(DraftShortage, InTheWarmUpMakesTheKvCacheSmaller) {
  for (const auto& [steps, blocks] : {std::pair{0, 200}, {2, 176}, {4, 152}, {6, 152}}) {
    SCOPED_TRACE(steps);
    const net::testing::captured_log log;
    std::weak_ptr<draft_model> drafts;
    draft_setup setup = lacking(steps);
    setup.steps = 0;
    setup.warm_up = warm_up_mode::full;
    stage stage(draft_model_setup(setup, drafts));
    stage.run();
    EXPECT_TRUE(stage.status().ready);
    EXPECT_EQ(stage.roster().num_blocks, blocks);
    EXPECT_EQ(lines_with(log, "finds no memory on the device: the KV cache shrinks"),
              static_cast<std::size_t>(std::min(steps, 4)));
    EXPECT_EQ(lines_with(log, "left out"), 0U);
    EXPECT_FALSE(drafts.expired());
    answer_until(stage, [&] { return drafted(stage) > 0; });
  }
}

}  // namespace
}  // namespace troupe::test
