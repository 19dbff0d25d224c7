#include "runtime/executor/cpu/plan_tuner.hpp"

#include <gtest/gtest.h>

#include <map>

namespace troupe {
namespace {

// Runs the choice over a machine where a plan's step takes `times[items_per_member]`, the n-th turn of all
// `noise(n)` more. How often each had its turn.
template <class Noise>
std::map<std::int32_t, int> choose(plan_tuner& tuner, const std::map<std::int32_t, std::int64_t>& times,
                                   Noise noise) {
  std::map<std::int32_t, int> turns;
  for (int n = 0; !tuner.finished() && n < 1000; ++n) {
    const std::int32_t plan = tuner.next()->items_per_member;
    ++turns[plan];
    tuner.took(times.at(plan) + noise(n));
  }
  EXPECT_TRUE(tuner.finished());
  EXPECT_EQ(tuner.next(), nullptr);
  return turns;
}

const auto quiet = [](int) { return 0; };

TEST(PlanTuner, ChoosesTheSoonest) {
  plan_tuner tuner({{4}, {1}, {2}});
  choose(tuner, {{4, 1000}, {1, 900}, {2, 950}}, quiet);
  EXPECT_EQ(tuner.best().items_per_member, 1);
  EXPECT_NEAR(tuner.gain(), 1.11, 0.01);
}

TEST(PlanTuner, StaysWithTheDefaultWhereTheGainIsNoise) {
  plan_tuner tuner({{4}, {1}, {2}});
  choose(tuner, {{4, 1000}, {1, 990}, {2, 985}}, quiet);
  EXPECT_EQ(tuner.best().items_per_member, 4);
  EXPECT_EQ(tuner.gain(), 1.0);
}

TEST(PlanTuner, IsNotMisledByASlowStepOfAnother) {
  plan_tuner tuner({{4}, {1}, {2}});
  choose(tuner, {{4, 1000}, {1, 900}, {2, 950}}, [](int n) { return n % 10 == 1 ? 50'000 : 0; });
  EXPECT_EQ(tuner.best().items_per_member, 1);
}

TEST(PlanTuner, LetsCandidatesTakeTurnsAndDropsTheHopeless) {
  plan_tuner tuner({{4}, {1}, {2}, {8}});
  const auto turns = choose(tuner, {{4, 1000}, {1, 900}, {2, 950}, {8, 5000}}, quiet);
  EXPECT_EQ(turns.at(4), 8);
  EXPECT_EQ(turns.at(1), 8);
  EXPECT_EQ(turns.at(8), 4) << "one that is not counted and three that are";
}

TEST(PlanTuner, DoesNotCountTheFirstTurn) {
  plan_tuner tuner({{4}, {1}});
  choose(tuner, {{4, 1000}, {1, 1000}}, [](int n) { return n == 0 ? 1'000'000 : 0; });
  EXPECT_EQ(tuner.best().items_per_member, 4);
}

TEST(PlanTuner, HasNothingToChooseFromOneOrNone) {
  EXPECT_TRUE(plan_tuner(std::vector<step_plan>{}).finished());
  EXPECT_TRUE(plan_tuner(std::vector<step_plan>{{2}}).finished());
  EXPECT_EQ(plan_tuner(std::vector<step_plan>{{2}}).best().items_per_member, 2);
}

TEST(StepPlans, GiveTheNextLargerNumberOfRowsItsPlan) {
  step_plans plans("shape");
  EXPECT_EQ(plans.of(5), step_plan{});
  plans.use(4, {1});
  plans.use(16, {8});
  EXPECT_EQ(plans.of(1).items_per_member, 1);
  EXPECT_EQ(plans.of(4).items_per_member, 1);
  EXPECT_EQ(plans.of(5).items_per_member, 8);
  EXPECT_EQ(plans.of(16).items_per_member, 8);
  EXPECT_EQ(plans.of(500), step_plan{}) << "nobody has timed so many";
}

TEST(StepPlans, AreAllOverruledWhileOneIsTriedOut) {
  step_plans plans("shape");
  plans.use(4, {1});
  const step_plan tried{2};
  {
    const step_plan_trial trial(plans, tried);
    EXPECT_EQ(plans.of(4).items_per_member, 2);
    EXPECT_EQ(plans.of(1000).items_per_member, 2);
  }
  EXPECT_EQ(plans.of(4).items_per_member, 1);
}

TEST(StepPlans, OfferValidCandidatesWithTheDefaultFirst) {
  EXPECT_EQ(step_plans::candidates().front(), step_plan{});
  for (const step_plan& each : step_plans::candidates()) EXPECT_TRUE(is_valid(each)) << to_string(each);
  EXPECT_FALSE(is_valid({0}));
  EXPECT_FALSE(is_valid({1025}));
}

}  // namespace
}  // namespace troupe
