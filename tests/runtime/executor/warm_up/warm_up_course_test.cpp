#include "runtime/executor/warm_up/warm_up_course.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

const executor_limits of_steps{.max_rows = 64, .max_sequences = 6, .max_model_len = 200, .block_size = 16};

using test::plan_of;

// The numbers of the items of that phase that come next, which are taken.
std::vector<std::int32_t> take(warm_up_course& course, warm_up_phase phase) {
  std::vector<std::int32_t> numbers;
  for (; course.next() != nullptr && course.next()->phase == phase; course.advance())
    numbers.push_back(course.next()->number);
  return numbers;
}

std::vector<warm_up_item> of_three_decodes() {
  return warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}, {2, 1, 4}, {4, 1, 4}}), of_steps, 16,
                       warm_up_extent::every_bucket);
}

TEST(WarmUpCourse, ServesAfterAllOfAFullOne) {
  const auto items = warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}}), of_steps, 16,
                                   warm_up_extent::every_bucket);
  warm_up_course course(items, warm_up_mode::full);
  EXPECT_EQ(course.total(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(course.ready());
    ASSERT_NE(course.next(), nullptr);
    course.advance();
  }
  EXPECT_TRUE(course.ready() && course.finished());
  EXPECT_EQ(course.next(), nullptr);
  EXPECT_EQ(course.share(), 1.0);
}

TEST(WarmUpCourse, ServesAfterOnePrefillAndOneDecodeOfALazyOne) {
  const auto items = warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}, {2, 1, 4}}), of_steps, 16,
                                   warm_up_extent::every_bucket);
  warm_up_course course(items, warm_up_mode::lazy);
  EXPECT_EQ(course.needed(), 2);
  EXPECT_EQ(course.next()->shape, (bucket{1, 32, 0}));
  course.advance();
  EXPECT_FALSE(course.ready());
  EXPECT_EQ(course.next()->shape, (bucket{2, 1, 4}));
  course.advance();
  EXPECT_TRUE(course.ready());
  EXPECT_FALSE(course.finished());
  std::set<std::pair<int, std::int32_t>> rest;
  for (; course.next() != nullptr; course.advance())
    rest.emplace(static_cast<int>(course.next()->phase), course.next()->number);
  EXPECT_EQ(rest.size(), items.size() - 2);
}

// Behind a device that has been lost, whose graphs are gone with it.
TEST(WarmUpCourse, RepeatsWhatHasBeenRunOfAPhaseBehindTheRest) {
  warm_up_course course(of_three_decodes(), warm_up_mode::lazy);
  course.advance();
  course.advance();
  ASSERT_TRUE(course.ready());
  take(course, warm_up_phase::prompt);
  course.skip();  // the second decode
  const std::int32_t total = course.total();
  course.repeat(warm_up_phase::decode);
  EXPECT_TRUE(course.ready());
  EXPECT_EQ(take(course, warm_up_phase::decode), (std::vector<std::int32_t>{3})) << "what was left";
  EXPECT_FALSE(take(course, warm_up_phase::sampler).empty());
  EXPECT_EQ(course.share(), 1.0) << "all of it was run once";
  EXPECT_EQ(take(course, warm_up_phase::decode), (std::vector<std::int32_t>{1})) << "not what was left out";
  EXPECT_TRUE(course.finished());
  for (int restart = 0; restart < 3; ++restart) {
    course.repeat(warm_up_phase::decode);
    EXPECT_TRUE(course.ready());
    EXPECT_EQ(course.total(), total);
    EXPECT_EQ(course.share(), 1.0);
    EXPECT_EQ(take(course, warm_up_phase::decode), (std::vector<std::int32_t>{3, 1}));
  }
  course.repeat(warm_up_phase::unified);
  EXPECT_TRUE(course.finished());
}

TEST(WarmUpCourse, RepeatsBeforeAnybodyIsServedWhatWasToBeRunBefore) {
  warm_up_course course(of_three_decodes(), warm_up_mode::full);
  take(course, warm_up_phase::prompt);
  course.advance();
  course.advance();
  const std::int32_t needed = course.needed();
  course.repeat(warm_up_phase::decode);
  EXPECT_EQ(course.needed(), needed);
  EXPECT_EQ(take(course, warm_up_phase::decode), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_FALSE(course.ready());
  take(course, warm_up_phase::sampler);
  EXPECT_TRUE(course.ready() && course.finished());
}

// On a device that captures nothing.
TEST(WarmUpCourse, LeavesOutWhatIsLeftForGraphsAlone) {
  const std::vector<std::int32_t> graphs{1, 2, 4};
  const auto items = warm_up_items(plan_of({{1, 16, 0}}, {{1, 1, 4}, {2, 1, 4}}), of_steps, 16,
                                   warm_up_extent::every_bucket, {}, graphs);
  warm_up_course course(items, warm_up_mode::full);
  course.advance();
  EXPECT_EQ(course.next()->shape, (bucket{4, 1, 1}));
  course.skip_graphs();
  std::vector<bucket> left;
  for (; course.next()->phase == warm_up_phase::decode; course.advance())
    left.push_back(course.next()->shape);
  EXPECT_EQ(left, (std::vector<bucket>{{2, 1, 4}, {1, 1, 4}}));
  EXPECT_FALSE(course.ready());
  take(course, warm_up_phase::sampler);
  EXPECT_TRUE(course.ready() && course.finished());
}

TEST(WarmUpCourse, GivesUpAnItemThatEndsTheRunnerAgainAndAgain) {
  const auto items = warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}}), of_steps, 16,
                                   warm_up_extent::every_bucket);
  warm_up_course course(items, warm_up_mode::full);
  EXPECT_FALSE(course.ended_runner(false));
  EXPECT_TRUE(course.ended_runner(false)) << "whatever it has answered in between";
  course.advance();
  for (int kill = 1; kill < 5; ++kill) EXPECT_FALSE(course.ended_runner(true)) << "another item; " << kill;
  EXPECT_FALSE(course.ended_runner(false));
  EXPECT_TRUE(course.ended_runner(true));
}

// With every device what the one before had captured comes first, and is not what ends them.
TEST(WarmUpCourse, GivesAnItemUpBehindOthersThatAreRunAgainBeforeIt) {
  warm_up_course course(of_three_decodes(), warm_up_mode::full);
  take(course, warm_up_phase::prompt);
  take(course, warm_up_phase::decode);
  EXPECT_EQ(course.next()->phase, warm_up_phase::sampler);
  EXPECT_FALSE(course.ended_runner(false));
  course.repeat(warm_up_phase::decode);
  EXPECT_FALSE(course.ended_runner(false)) << "a decode, for the first time";
  EXPECT_EQ(take(course, warm_up_phase::decode).size(), 3U);
  EXPECT_TRUE(course.ended_runner(false));
}

std::vector<warm_up_item> measured_items() {
  return warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}, {2, 1, 4}}), of_steps, 16,
                       warm_up_extent::every_bucket, {.tune = true, .verification = true});
}

TEST(WarmUpCourse, MeasuresWhatDraftsCostFirstOfTheRestOfALazyOneAndAgainBehindTheTuning) {
  warm_up_course course(measured_items(), warm_up_mode::lazy);
  course.advance();
  course.advance();
  const std::vector<std::int32_t> first = take(course, warm_up_phase::verification);
  ASSERT_GT(first.size(), 3U);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(take(course, warm_up_phase::prompt).size(), 1U);
  EXPECT_EQ(take(course, warm_up_phase::decode).size(), 1U);
  EXPECT_FALSE(take(course, warm_up_phase::tuning).empty());
  EXPECT_EQ(take(course, warm_up_phase::verification).size(), first.size());
  EXPECT_FALSE(take(course, warm_up_phase::sampler).empty());
  EXPECT_TRUE(course.finished());
}

TEST(WarmUpCourse, MeasuresWhatDraftsCostOnceMoreBehindTheBucketsWhereNothingIsTuned) {
  warm_up_course course(warm_up_items(plan_of({{1, 16, 0}, {1, 32, 0}}, {{1, 1, 4}, {2, 1, 4}}), of_steps, 16,
                                      warm_up_extent::every_bucket, {.verification = true}),
                        warm_up_mode::lazy);
  course.advance();
  course.advance();
  const std::size_t of_first_pass = take(course, warm_up_phase::verification).size();
  EXPECT_GT(of_first_pass, 3U);
  EXPECT_EQ(take(course, warm_up_phase::prompt).size(), 1U);
  EXPECT_EQ(take(course, warm_up_phase::decode).size(), 1U);
  EXPECT_EQ(take(course, warm_up_phase::verification).size(), of_first_pass);
}

TEST(WarmUpCourse, TakesOnePhaseBeforeTheRestWhereThatIsAskedFor) {
  const auto items = measured_items();
  warm_up_course course(items, warm_up_mode::lazy);
  course.advance();
  course.advance();
  std::vector<std::int32_t> numbers = take(course, warm_up_phase::verification);
  const std::size_t of_first_pass = numbers.size();
  EXPECT_NE(course.next()->phase, warm_up_phase::verification);
  EXPECT_TRUE(course.bring_forward(warm_up_phase::verification));
  EXPECT_TRUE(course.bring_forward(warm_up_phase::verification)) << "again, before it is run";
  for (const std::int32_t number : take(course, warm_up_phase::verification)) numbers.push_back(number);
  EXPECT_EQ(numbers.size(), 2 * of_first_pass);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_FALSE(course.bring_forward(warm_up_phase::verification));
  std::size_t rest = 0;
  for (; course.next() != nullptr; course.advance()) ++rest;
  EXPECT_EQ(2 + numbers.size() + rest, items.size());
  EXPECT_FALSE(course.bring_forward(warm_up_phase::sampler)) << "nothing is left";
}

TEST(WarmUpCourse, LeavesEverythingOutWhereItIsSkipped) {
  const auto items = warm_up_items({}, of_steps, 16, warm_up_extent::every_bucket);
  const warm_up_course course(items, warm_up_mode::skip);
  EXPECT_TRUE(course.ready() && course.finished());
  EXPECT_EQ(course.next(), nullptr);
  EXPECT_EQ(course.share(), 1.0);
}

}  // namespace
}  // namespace troupe
