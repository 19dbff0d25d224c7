// Requests whose masks take more work than a step waits for: who else goes on, and what happens to questions
// about masks that are lost.
#include <gtest/gtest.h>

#include <caf/actor_cast.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "actors/grammars/structured_output.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

// Every mask of such a company's grammars is costly: it takes a hundred times as much as a step waits for.
company_setup impatient_company(std::int32_t max_steps_in_flight) {
  company_setup setup;
  setup.max_steps_in_flight = max_steps_in_flight;
  setup.adjust = [](supervisor_parts& parts) { parts.grammars.mask_steps_per_step = 4; };
  return setup;
}

sampling_params held(std::int32_t max_tokens) {
  sampling_params sampling = greedy(max_tokens);
  sampling.grammar =
      std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = "f?g?h?[i-z]*"});
  return sampling;
}

TEST(CostlyMasks, AreWorkedOutBesideTheStepsOfOthersWhichTheirRequestsTakeNoRowsOf) {
  for (const std::int32_t max_steps_in_flight : {1, 2, 3}) {
    SCOPED_TRACE(max_steps_in_flight);
    int rows_of_held = 0, steps_of_free = 0;
    company_setup setup = impatient_company(max_steps_in_flight);
    setup.before_step = [&](const device_batch& batch) {
      for (const sample_row& sample : batch.samples)
        ++(sample.sampling->grammar ? rows_of_held : steps_of_free);
    };
    stage stage(setup);
    const auto free = stage.ask("hello", 90);
    const auto costly = stage.ask("hello", held(3));
    while (costly->ends.empty() && stage.run(1) > 0) {
    }
    const int steps_beside = steps_of_free;
    stage.run();
    EXPECT_EQ(costly->text, "fgh");
    EXPECT_EQ(free->text.size(), 90U);
    EXPECT_LT(steps_beside, 85) << "it need not wait for the others' end";
    EXPECT_GT(steps_beside, 12) << "or its masks are not costly";
    // Each place is tried and computed again, and once more by each step that was planned ahead.
    EXPECT_LE(rows_of_held, 3 * (1 + max_steps_in_flight));
    stage.expect_idle();
  }
}

TEST(CostlyMasks, OfAllWhoRunAreWorkedOutWithoutWaitingForSteps) {
  int steps = 0;
  company_setup setup = impatient_company(2);
  setup.before_step = [&](const device_batch&) { ++steps; };
  stage stage(setup);
  std::vector<std::shared_ptr<client>> all;
  for (int i = 0; i < 6; ++i) all.push_back(stage.ask("hello", held(3)));
  stage.run();
  for (const auto& who : all) EXPECT_EQ(who->text, "fgh");
  EXPECT_LT(steps, 40);
  stage.expect_idle();
}

TEST(CostlyMasks, LeaveNobodyWaitingWhereAQuestionAboutThemIsLostOrItsOwnerEnds) {
  int losses = 0;
  for (const bool is_lost : {true, false}) {
    for (std::size_t messages = 10; messages < 130; messages += 3) {
      SCOPED_TRACE((is_lost ? "a message lost after " : "dead after ") + std::to_string(messages));
      stage stage(impatient_company(1 + static_cast<std::int32_t>(messages % 2)));
      const auto free = stage.ask("hello", 30);
      const auto costly = stage.ask("hello", held(3));
      stage.run(messages);
      losses += stage.lose_message_or_kill(stage.roster().structured_output, is_lost) ? 1 : 0;
      ASSERT_EQ(costly->ends.size(), 1U);
      if (costly->ends[0].reason != finish_reason::error) {
        EXPECT_EQ(costly->text, "fgh");
      }
      ASSERT_EQ(free->ends.size(), 1U);
      EXPECT_EQ(free->text.size(), 30U);
      const auto next = stage.ask("hello", held(3));
      stage.run();
      EXPECT_EQ(next->text, "fgh");
      stage.expect_idle();
    }
  }
  EXPECT_GT(losses, 5);
}

// Minutes pass before it asks again: no answer is lost where nobody loses it on purpose.
TEST(CostlyMasks, AreAskedForAgainWhereTheAnswerIsLost) {
  company_setup setup = impatient_company(1);
  setup.step_deadline = std::chrono::hours(1);
  bool has_run = false;
  setup.before_step = [&](const device_batch& batch) {
    for (const sample_row& sample : batch.samples) has_run = has_run || sample.sampling->grammar;
  };
  stage stage(setup);
  const auto costly = stage.ask("hello", held(3));
  const auto free = stage.ask("hello", 90);
  const auto& owner = stage.roster().structured_output;
  const auto run_others = [&] {
    while (stage.run_any(0, caf::actor_cast<caf::abstract_actor*>(owner))) {
    }
  };
  while (!has_run) ASSERT_EQ(stage.run(1), 1U);
  // Nobody but who is left out of steps lets the other one come to its end.
  for (run_others(); free->ends.empty(); run_others()) ASSERT_TRUE(stage.run_only(owner));
  ASSERT_TRUE(costly->ends.empty());
  bool is_lost = false;
  while (!is_lost && stage.run_only(owner)) is_lost = stage.lose_answer(stage.roster().scheduler);
  ASSERT_TRUE(is_lost);
  stage.run();
  EXPECT_TRUE(costly->ends.empty());
  for (int second = 0; second < 200; ++second) {
    stage.advance(std::chrono::seconds(1));
    stage.run();
  }
  EXPECT_EQ(costly->text, "fgh");
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
