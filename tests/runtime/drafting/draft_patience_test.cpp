#include "runtime/drafting/draft_patience.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(draft_patience, is_over_after_steps_without_drafts_and_back_after_one_with) {
  draft_patience patience;
  for (int step = 0; step < 16; ++step) {
    EXPECT_TRUE(patience.waits()) << step;
    patience.planned(false);
  }
  EXPECT_FALSE(patience.waits());
  patience.planned(true);
  EXPECT_TRUE(patience.waits());
}

TEST(draft_patience, is_over_after_an_answer_too_late_until_one_is_in_time) {
  draft_patience patience;
  patience.answered(true);
  EXPECT_FALSE(patience.waits());
  patience.planned(true);
  EXPECT_FALSE(patience.waits()) << "although a later step has used it";
  patience.answered(true);
  EXPECT_FALSE(patience.waits());
  patience.answered(false);
  EXPECT_TRUE(patience.waits());
}

TEST(draft_patience, begins_anew_with_somebody_else) {
  draft_patience patience;
  patience.answered(true);
  patience.forget();
  EXPECT_TRUE(patience.waits());
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
