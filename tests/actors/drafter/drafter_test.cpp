// When the scheduler asks for drafts.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/actors/drafter/drafting_fixture.hpp"

namespace troupe::test {
namespace {

double steps_in(stage& on, const std::string& phase) {
  return on.metric("troupe_step_seconds_count", {{"phase", phase}});
}

TEST(DrafterActor, IsAskedAfterStepsAndNotWhereARequestEndsBetweenThem) {
  company_setup setup;
  setup.max_num_seqs = 1;
  setup.adjust = [](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::ngram;
    parts.drafts->config.adaptive = false;
    parts.drafts->config.prompt_lookup_min = parts.drafts->config.prompt_lookup_max = 3;
  };
  stage stage(setup);
  const auto stays = stage.ask("who stays", 60);
  std::vector<std::shared_ptr<client>> others;
  for (int i = 0; i < 4; ++i) others.push_back(stage.ask("who waits and leaves", 60));
  stage.run(200);
  ASSERT_TRUE(stays->ends.empty());
  const auto* runner = caf::actor_cast<caf::abstract_actor*>(stage.roster().model_runner);
  const auto run_all_but_the_step = [&] {
    while (stage.run_any(0, runner)) {
    }
  };
  run_all_but_the_step();
  const double asked = steps_in(stage, "draft");
  EXPECT_GT(asked, 0);
  for (const auto& other : others) {
    stage.abort(*other);
    run_all_but_the_step();
    EXPECT_EQ(other->ends.size(), 1U);
  }
  EXPECT_EQ(steps_in(stage, "draft"), asked);
  stage.run();
  EXPECT_EQ(stays->tokens.size(), 60U);
  stage.expect_idle();
}

company_setup never_repeating_setup() {
  company_setup setup;
  setup.max_model_len = 256;
  setup.num_blocks = 100;
  setup.script = [](const sample_row& row) { return row.position % 200; };
  setup.adjust = [](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::ngram;
    parts.drafts->config.adaptive = false;
  };
  return setup;
}

// A step is planned ahead, so the first token that is guessed is one that is sampled already.
TEST(DrafterActor, ASingleTokenIsDraftedAStepAheadAsWell) {
  for (const auto method : {speculative_method::ngram, speculative_method::suffix}) {
    for (const bool is_by_request : {false, true}) {
      stage stage(repeating_setup(method, is_by_request ? 8 : 1));
      sampling_params sampling = greedy(60);
      if (is_by_request) sampling.num_speculative_tokens = 1;
      const auto who = stage.ask("what", sampling);
      stage.run();
      EXPECT_EQ(who->tokens.size(), 60U);
      for (std::size_t i = 4; i < who->tokens.size(); ++i) EXPECT_EQ(who->tokens[i], who->tokens[i - 4]);
      const auto counts = stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
      EXPECT_GT(counts->accepted_tokens, 15U);
      stage.expect_idle();
    }
  }
}

TEST(DrafterActor, HearsNothingOfARequestThatWantsNoDrafts) {
  stage stage(repeating_setup(speculative_method::ngram, 4));
  sampling_params sampling = greedy(30);
  sampling.num_speculative_tokens = 0;
  stage.ask("abcdabcdabcd", sampling);
  stage.run();
  EXPECT_LE(stage.messages_of("drafter", "open_drafts"), 0);
  EXPECT_EQ(stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{})->draft_tokens, 0U);
  stage.ask("abcdabcdabcd", 30);
  stage.run();
  EXPECT_EQ(stage.messages_of("drafter", "open_drafts"), 1);
  EXPECT_GT(stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{})->draft_tokens, 10U);
}

TEST(DrafterActor, ThatEndsTooOftenIsLeftOutAndNobodyElseEnds) {
  stage stage(repeating_setup(speculative_method::ngram, 4));
  const auto scheduler = stage.roster().scheduler;
  const auto who = stage.ask("abcdabcdabcd", 60);
  for (int i = 0; i < 3; ++i) {
    stage.run(10);
    ASSERT_TRUE(stage.roster().drafter) << i;
    stage.kill(stage.roster().drafter);
    stage.run(20);
  }
  EXPECT_FALSE(stage.roster().drafter);
  stage.run();
  EXPECT_EQ(who->tokens.size(), 60U);
  EXPECT_TRUE(stage.status().ready && stage.status().live);
  EXPECT_EQ(stage.roster().scheduler, scheduler);
  const auto later = stage.ask("abcdabcdabcd", 60);
  stage.run();
  EXPECT_EQ(later->tokens, who->tokens);
  EXPECT_EQ(stage.messages_of("drafter", "open_drafts"), 1) << "the first request's";
  stage.kill(stage.roster().scheduler);
  stage.run();
  EXPECT_TRUE(stage.roster().drafter) << "with the next scheduler";
  stage.expect_idle();
}

TEST(DrafterActor, IndexesNothingWhereNothingWaits) {
  stage stage(repeating_setup(speculative_method::suffix, 4));
  const auto who = stage.ask("who repeats itself", 60);
  stage.run();
  EXPECT_EQ(who->tokens.size(), 60U);
  EXPECT_GT(stage.messages_of("drafter", "propose_drafts"), 10);
  EXPECT_LE(stage.messages_of("drafter", "index_drafts"), 2)
      << "the prompt, perhaps, and the answer when it is over";
}

TEST(DrafterActor, IsNotWaitedForWhereNothingHasComeOfItLately) {
  stage stage(never_repeating_setup());
  const auto who = stage.ask("somebody", 150);
  const auto* drafter = caf::actor_cast<caf::abstract_actor*>(stage.roster().drafter);
  const auto run_without_the_drafter = [&] {
    while (stage.run_any(0, drafter)) {
    }
  };
  run_without_the_drafter();
  EXPECT_LT(who->tokens.size(), 10U) << "it may know something";
  while (who->tokens.size() < 40) stage.run(1);
  run_without_the_drafter();
  EXPECT_EQ(who->tokens.size(), 150U);
  stage.expect_idle();
}

// Each end is told at once, and must not put off the next question.
TEST(DrafterActor, IsAskedNowAndThenAlsoWhereRequestsEndAllTheTime) {
  company_setup setup = never_repeating_setup();
  setup.max_num_seqs = 2;
  setup.max_num_queued_requests = 100;
  stage stage(setup);
  const auto who = stage.ask("somebody", 150);
  for (int i = 0; i < 70; ++i) stage.ask("and others who leave", 2);
  stage.run();
  EXPECT_EQ(who->tokens.size(), 150U);
  EXPECT_GE(stage.messages_of("drafter", "propose_drafts"), 16 + 134 / 8);
  stage.expect_idle();
}

TEST(DrafterActor, IsAskedAboutFewStepsWhereNothingHasComeOfItLately) {
  stage stage(never_repeating_setup());
  const auto who = stage.ask("somebody", 150);
  stage.run();
  EXPECT_EQ(who->tokens.size(), 150U);
  const double asked = stage.messages_of("drafter", "propose_drafts");
  EXPECT_LE(asked, 16 + 134 / 4);
  EXPECT_GE(asked, 16 + 134 / 8) << "but it is kept up to date";
  EXPECT_LE(stage.messages_of("drafter", "observe_tokens"), 2);
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
