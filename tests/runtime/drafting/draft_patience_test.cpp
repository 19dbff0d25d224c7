#include "runtime/drafting/draft_patience.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// How many steps it waits from now on where nothing is accepted.
int steps_of(draft_patience patience) {
  int steps = 0;
  for (; patience.waits() && steps < 100; ++steps) patience.committed(0, 1);
  return steps;
}

TEST(draft_patience, lasts_as_long_as_what_is_accepted_pays_for_it) {
  draft_patience patience;
  EXPECT_EQ(steps_of(patience), 16);
  while (patience.waits()) patience.committed(0, 8);
  patience.committed(1, 1);
  EXPECT_EQ(steps_of(patience), 16) << "a step spared is one of the only sequence's";
  while (patience.waits()) patience.committed(0, 8);
  patience.committed(1, 8);
  EXPECT_EQ(steps_of(patience), 2) << "an eighth of a step is spared";
  patience.committed(9, 8);
  EXPECT_EQ(steps_of(patience), 16) << "no more than at first";
  while (patience.waits()) patience.committed(0, 8);
  patience.committed(1, 64);
  EXPECT_EQ(steps_of(patience), 1);
}

TEST(draft_patience, is_not_used_up_by_steps_that_sample_nothing) {
  draft_patience patience;
  for (int step = 0; step < 100; ++step) patience.committed(0, 0);
  EXPECT_TRUE(patience.waits());
}

TEST(draft_patience, is_over_after_an_answer_too_late_until_one_is_in_time) {
  draft_patience patience;
  patience.answered(true);
  EXPECT_FALSE(patience.waits());
  patience.committed(3, 1);
  EXPECT_FALSE(patience.waits()) << "although a later step has used it";
  patience.answered(true);
  EXPECT_FALSE(patience.waits());
  patience.answered(false);
  EXPECT_TRUE(patience.waits());
}

TEST(draft_patience, asks_after_each_step_whose_answer_is_waited_for_and_after_four_else) {
  draft_patience patience;
  patience.asked();
  EXPECT_TRUE(patience.asks());
  patience.answered(true);
  for (int step = 0; step < 4; ++step) {
    EXPECT_FALSE(patience.asks()) << step;
    patience.committed(0, 1);
  }
  EXPECT_TRUE(patience.asks());
  patience.asked();
  EXPECT_FALSE(patience.asks());
  patience.answered(false);
  EXPECT_TRUE(patience.asks());
}

TEST(draft_patience, begins_anew_with_somebody_else) {
  draft_patience patience;
  while (patience.waits()) patience.committed(0, 1);
  patience.answered(true);
  patience.forget();
  EXPECT_TRUE(patience.waits());
  EXPECT_EQ(steps_of(patience), 16);
}

TEST(draft_patience, is_for_a_few_steps_within_reason) {
  EXPECT_EQ(draft_patience::for_step_after(milliseconds(1), minutes(2)), milliseconds(50));
  EXPECT_EQ(draft_patience::for_step_after(milliseconds(100), minutes(2)), milliseconds(400));
  EXPECT_EQ(draft_patience::for_step_after(seconds(30), minutes(2)), seconds(5));
  EXPECT_EQ(draft_patience::for_step_after(seconds(30), seconds(6)), seconds(3));
  EXPECT_EQ(draft_patience::for_step_after(milliseconds(0), milliseconds(60)), milliseconds(30));
}

}  // namespace
}  // namespace troupe
