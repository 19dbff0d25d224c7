// A draft model whose own step takes the device along: no request is to blame, and in the end there are no
// drafts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/actors/drafter/draft_model_fixture.hpp"

namespace troupe::test {
namespace {

const draft_setup crashing{
    .good_steps = 10, .fault = draft_fault::loses_the_device, .warm_up = warm_up_mode::skip};

std::vector<std::shared_ptr<client>> ask_six(stage& stage) {
  std::vector<std::shared_ptr<client>> all;
  for (std::int32_t i = 0; i < 6; ++i) {
    sampling_params sampling = greedy(60 + i);
    sampling.ignore_eos = true;
    all.push_back(
        stage.ask(std::string(static_cast<std::size_t>(10 + 9 * i), static_cast<char>('c' + i)), sampling));
  }
  return all;
}

void expect_that_it_goes_on(stage& stage) {
  stage.advance(stage::runner_settles);
  EXPECT_TRUE(stage.status().live);
  EXPECT_TRUE(stage.status().ready);
  const auto who = stage.ask("somebody", 5);
  stage.run();
  EXPECT_EQ(who->ends.size(), 1U);
  stage.expect_idle();
}

double restarts_of(stage& stage, const std::string& actor) {
  return stage.metric("troupe_actor_restarts_total", {{"actor", actor}});
}

// The next draft model knows none of the requests that are open: each crash takes requests of its own.
TEST(DraftModelCrash, CostsNobodyATokenAndAfterThreeThereAreNoDrafts) {
  std::weak_ptr<draft_model> drafts;
  stage plain(draft_model_setup({}, drafts));
  const auto expected = ask_six(plain);
  plain.run();
  stage stage(draft_model_setup(crashing, drafts));
  for (int crashes = 1; crashes <= 3; ++crashes) {
    SCOPED_TRACE(crashes);
    EXPECT_TRUE(stage.roster().drafter);
    const auto clients = ask_six(stage);
    stage.run();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      EXPECT_EQ(clients[i]->tokens, expected[i]->tokens) << i;
      EXPECT_EQ(clients[i]->ends.size(), 1U) << i;
    }
    EXPECT_EQ(restarts_of(stage, "model_runner"), crashes);
  }
  EXPECT_EQ(restarts_of(stage, "drafter"), 2);
  EXPECT_FALSE(stage.roster().drafter);
  EXPECT_TRUE(drafts.expired()) << "nobody would direct it";
  expect_that_it_goes_on(stage);
}

TEST(DraftModelCrash, CountsForNoOtherEnd) {
  std::weak_ptr<draft_model> drafts;
  stage stage(draft_model_setup(crashing, drafts));
  for (int crashes = 1; crashes <= 3; ++crashes) {
    ask_six(stage);
    stage.run();
  }
  for (int i = 0; i < 5; ++i) {  // as many as are allowed within a minute
    stage.kill(stage.roster().model_runner);
    stage.run();
    stage.advance(std::chrono::seconds(6));
    stage.run();
  }
  EXPECT_EQ(restarts_of(stage, "model_runner"), 8);
  expect_that_it_goes_on(stage);
}

TEST(DraftModelCrash, InTheWarmUpEndsTheDraftsAndNotTheStart) {
  std::weak_ptr<draft_model> drafts;
  draft_setup setup = crashing;
  setup.good_steps = 0;
  setup.warm_up = warm_up_mode::full;
  stage stage(draft_model_setup(setup, drafts));
  EXPECT_EQ(restarts_of(stage, "model_runner"), 3);
  expect_that_it_goes_on(stage);
}

}  // namespace
}  // namespace troupe::test
