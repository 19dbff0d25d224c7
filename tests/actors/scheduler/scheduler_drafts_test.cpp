// How long the scheduler waits for drafts.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/actors/drafter/drafting_fixture.hpp"

namespace troupe::test {
namespace {

// A company whose only request repeats itself, and whose drafter does not answer where a test says so.
class SilentDrafter : public testing::Test {
 protected:
  explicit SilentDrafter(std::chrono::nanoseconds step_deadline = std::chrono::minutes(1))
      : stage_(long_answers(step_deadline)) {
    while (who_->tokens.size() < 12 && stage_.run(1) == 1) {
    }
    EXPECT_GT(questions(), 0);
  }
  static company_setup long_answers(std::chrono::nanoseconds step_deadline) {
    company_setup setup = repeating_setup(speculative_method::suffix, 4);
    setup.max_model_len = 1024;
    setup.num_blocks = 400;
    setup.step_deadline = step_deadline;
    return setup;
  }
  double questions() { return stage_.messages_of("drafter", "propose_drafts"); }
  // Everybody but it.
  template <class Handle>
  void run_without(const Handle& silent) {
    const auto* actor = caf::actor_cast<caf::abstract_actor*>(silent);
    while (stage_.run_any(0, actor)) {
    }
  }
  void run_without_the_drafter() { run_without(stage_.roster().drafter); }
  // Nobody but it.
  void run_the_drafter() {
    while (stage_.run_only(stage_.roster().drafter)) {
    }
  }
  // Whether the next step waits for it, and for no longer than that, where the last one took so long.
  void expect_wait(std::chrono::nanoseconds last_step, std::chrono::nanoseconds expected) {
    run_without(stage_.roster().model_runner);
    stage_.advance(last_step);
    run_without_the_drafter();
    const std::size_t waiting_at = tokens();
    ASSERT_LT(waiting_at, 700U);
    stage_.advance(expected - std::chrono::milliseconds(1));
    run_without_the_drafter();
    EXPECT_EQ(tokens(), waiting_at);
    stage_.advance(std::chrono::milliseconds(1));
    run_without_the_drafter();
    EXPECT_EQ(tokens(), 700U);
    EXPECT_TRUE(stage_.status().live);
    stage_.expect_idle();
  }
  std::size_t tokens() const { return who_->tokens.size(); }
  // The next token. False: it has to wait for the drafter.
  bool give_token_without_the_drafter() {
    const auto* drafter = caf::actor_cast<caf::abstract_actor*>(stage_.roster().drafter);
    const std::size_t before = tokens();
    while (tokens() == before && stage_.run_any(0, drafter)) {
    }
    return tokens() != before;
  }
  // Everybody, while the step in hand takes so long.
  void take_step(std::chrono::nanoseconds time) {
    run_without(stage_.roster().model_runner);
    stage_.advance(time);
    run_without(stage_.roster().model_runner);
    while (stage_.run_only(stage_.roster().model_runner)) {
    }
  }

  stage stage_;
  std::shared_ptr<client> who_ = stage_.ask("what", 700);
};

TEST_F(SilentDrafter, IsWaitedForOnceAndAskedAgainWhenItHasAnswered) {
  run_without_the_drafter();
  const std::size_t waiting_at = tokens();
  const double asked = questions();
  ASSERT_LT(waiting_at, 700U);
  stage_.advance(std::chrono::milliseconds(49));
  run_without_the_drafter();
  EXPECT_EQ(tokens(), waiting_at) << "the next step waits for it";
  stage_.advance(std::chrono::milliseconds(1));
  for (int i = 0; i < 900 && tokens() < waiting_at + 100; ++i)
    stage_.run_any(0, caf::actor_cast<caf::abstract_actor*>(stage_.roster().drafter));
  EXPECT_GE(tokens(), waiting_at + 100) << "and the others do not";
  run_the_drafter();
  EXPECT_EQ(questions(), asked + 1) << "there was one question";
  stage_.run();
  EXPECT_EQ(tokens(), 700U);
  EXPECT_GT(questions(), asked + 10);
  stage_.expect_idle();
}

// What comes 10 ms too late, each time, costs one wait, as what does not come at all.
TEST_F(SilentDrafter, IsWaitedForOnceWhereItIsLateAgainAndAgain) {
  int waits = 0;
  for (int answer = 0; answer < 8; ++answer) {
    for (int step = 0; step < 7; ++step) {
      stage_.advance(std::chrono::milliseconds(10));
      if (!give_token_without_the_drafter()) ++waits;
    }
    run_the_drafter();
  }
  EXPECT_GT(waits, 0);
  EXPECT_LE(waits, 5) << "looks every 10 ms at a step that waits for 50 ms";
  stage_.run(100);
  run_without_the_drafter();
  EXPECT_LT(tokens(), 700U) << "once it is in time it is waited for again";
  stage_.run();
  stage_.advance(std::chrono::milliseconds(50));
  stage_.run();
  EXPECT_EQ(tokens(), 700U);
  stage_.expect_idle();
}

// A long step has its timer go off among those of short steps.
TEST_F(SilentDrafter, HasOneTimerForManyStepsWhoseDraftsComeInTime) {
  const auto timers = [this] { return stage_.messages_of("scheduler", "drafts_due"); };
  take_step(std::chrono::milliseconds(500));
  const double before = timers();
  int steps = 0;
  for (; tokens() < 600; ++steps) take_step(std::chrono::milliseconds(60));
  EXPECT_GT(steps, 100);
  EXPECT_LE(timers(), before + steps / 4 + 3) << "one for as long as four steps take";
  stage_.run();
  stage_.expect_idle();
}

TEST_F(SilentDrafter, IsWaitedForLongerWhereStepsAreLong) {
  expect_wait(std::chrono::milliseconds(500), std::chrono::seconds(2));
}

// It may have been a long prompt.
TEST_F(SilentDrafter, IsWaitedForNoLongerWhereOneStepWasVeryLong) {
  expect_wait(std::chrono::seconds(30), std::chrono::seconds(5));
}

class SilentDrafterOfAnImpatientCompany : public SilentDrafter {
 protected:
  SilentDrafterOfAnImpatientCompany() : SilentDrafter(std::chrono::seconds(6)) {}
};

TEST_F(SilentDrafterOfAnImpatientCompany, IsWaitedForNoLongerThanTheQueueMayStand) {
  expect_wait(std::chrono::seconds(5), std::chrono::seconds(3));
}

TEST_F(SilentDrafter, IsNotWaitedForAnyMoreWhereItIsReplacedAndTheNextOneIsAsked) {
  for (const bool is_late : {false, true}) {
    run_without_the_drafter();
    const std::size_t waiting_at = tokens();
    ASSERT_LT(waiting_at, 700U);
    if (is_late) stage_.advance(std::chrono::milliseconds(50));
    const double asked = questions();
    stage_.kill(stage_.roster().drafter);
    const auto later = stage_.ask("whatever comes later", is_late ? 40 : 400);  // nobody else is drafted for
    stage_.run(is_late ? 10000 : 300);
    EXPECT_GT(tokens(), waiting_at);
    EXPECT_GT(questions(), asked);
    if (is_late) {
      EXPECT_EQ(later->tokens.size(), 40U);
    }
  }
  EXPECT_EQ(tokens(), 700U);
  stage_.expect_idle();
}

// Where the answer is lost on its way, nobody will ever give it.
TEST_F(SilentDrafter, IsAskedAgainAfterMinutes) {
  run_without_the_drafter();
  const double asked = questions() + 1;
  while (questions() != asked && stage_.run(1) == 1) {
  }
  ASSERT_TRUE(stage_.lose_answer(stage_.roster().scheduler));
  stage_.run();
  ASSERT_LT(tokens(), 700U);
  stage_.advance(std::chrono::milliseconds(50));
  stage_.run();
  EXPECT_EQ(tokens(), 700U);
  EXPECT_EQ(questions(), asked);
  for (int second = 0; second <= 181; ++second) {
    stage_.advance(std::chrono::seconds(1));
    stage_.run();
  }
  const auto later = stage_.ask("what", 40);
  stage_.run();
  EXPECT_EQ(later->tokens.size(), 40U);
  EXPECT_GT(questions(), asked + 3);
  stage_.expect_idle();
}

}  // namespace
}  // namespace troupe::test
