#include "runtime/scheduler/suspects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

TEST(suspects, everybody_may_run_where_nobody_is_to_blame) {
  suspects tried;
  EXPECT_TRUE(tried.empty());
  EXPECT_TRUE(tried.may_run(7));
  EXPECT_FALSE(tried.accuse({}, blame::oldest_step));
  EXPECT_TRUE(tried.empty());
}

TEST(suspects, one_that_crashes_alone_is_tried_once_more_and_then_convicted) {
  suspects tried;
  const std::vector<request_id> alone{7};
  EXPECT_FALSE(tried.accuse(alone, blame::oldest_step));
  EXPECT_TRUE(tried.may_run(7));
  EXPECT_FALSE(tried.may_run(8));
  EXPECT_EQ(tried.accuse(alone, blame::oldest_step), 7U);
  EXPECT_TRUE(tried.empty());
}

TEST(suspects, an_acquitted_one_begins_anew_but_not_for_ever) {
  suspects tried;
  const std::vector<request_id> alone{7};
  for (int i = 1; i < suspects::most_crashes; ++i) {
    EXPECT_FALSE(tried.accuse(alone, blame::oldest_step));
    tried.acquit(7);
    EXPECT_TRUE(tried.empty());
  }
  EXPECT_EQ(tried.accuse(alone, blame::oldest_step), 7U);
  tried.forget(7);
  EXPECT_FALSE(tried.accuse(alone, blame::oldest_step));
}

TEST(suspects, one_that_gets_on_between_its_crashes_may_have_any_number) {
  suspects tried;
  const std::vector<request_id> alone{7};
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(tried.accuse(alone, blame::oldest_step)) << i;
    for (int step = 0; step < suspects::steps_for_a_crash; ++step) tried.acquit(7);
  }
  EXPECT_FALSE(tried.knows_anybody());
}

TEST(suspects, of_whom_the_device_was_killed_often_is_convicted_only_where_it_gets_no_further) {
  suspects tried;
  const std::vector<request_id> alone{7};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(tried.accuse(alone, blame::perhaps_oldest_step)) << i;
    tried.acquit(7);
  }
  for (int i = 1; i < suspects::kills_that_convict; ++i)
    ASSERT_FALSE(tried.accuse(alone, blame::perhaps_oldest_step));
  EXPECT_EQ(tried.accuse(alone, blame::perhaps_oldest_step), 7U);
}

TEST(suspects, a_crowd_is_not_parted_for_a_kill_or_two) {
  suspects tried;
  const std::vector<request_id> crowd{1, 2, 3};
  for (int i = 1; i < suspects::kills_that_try; ++i) {
    EXPECT_FALSE(tried.accuse(crowd, blame::perhaps_oldest_step));
    EXPECT_TRUE(tried.empty());
  }
  tried.acquit(1);
  EXPECT_FALSE(tried.accuse(crowd, blame::perhaps_oldest_step));
  EXPECT_FALSE(tried.may_run(1) && tried.may_run(2) && tried.may_run(3)) << "two have got no further since";
}

TEST(suspects, a_kill_convicts_nobody_who_was_in_crashes) {
  suspects tried;
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{1, 2, 3, 4}, blame::oldest_step));
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{1, 2}, blame::oldest_step));
  tried.acquit(1);
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{2}, blame::perhaps_oldest_step));
  EXPECT_EQ(tried.accuse(std::vector<request_id>{2}, blame::oldest_step), 2U);
}

TEST(suspects, one_that_was_in_a_crowd_that_crashed_is_convicted_by_a_crash_alone) {
  suspects tried;
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{1, 2}, blame::oldest_step));
  EXPECT_EQ(tried.accuse(std::vector<request_id>{1}, blame::oldest_step), 1U);
  tried.forget(1);
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{2}, blame::perhaps_oldest_step));
  tried.acquit(2);
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{2}, blame::oldest_step)) << "it has got over the first";
}

TEST(suspects, halves_are_tried_one_after_the_other) {
  suspects tried;
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{1, 2, 3, 4}, blame::oldest_step));
  const auto may_run = [&] {
    std::vector<request_id> ids;
    for (request_id id = 1; id <= 5; ++id)
      if (tried.may_run(id)) ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(may_run(), (std::vector<request_id>{1, 2}));
  tried.acquit(1);
  EXPECT_EQ(may_run(), (std::vector<request_id>{2}));
  tried.acquit(2);
  EXPECT_EQ(may_run(), (std::vector<request_id>{3, 4}));
  EXPECT_FALSE(tried.accuse(std::vector<request_id>{3, 4}, blame::oldest_step));
  EXPECT_EQ(may_run(), (std::vector<request_id>{3}));
  EXPECT_EQ(tried.accuse(std::vector<request_id>{3}, blame::oldest_step), 3U);
  EXPECT_EQ(may_run(), (std::vector<request_id>{4}));
  tried.forget(4);
  EXPECT_EQ(may_run().size(), 5U);
}

// Whoever kills is convicted, nobody else is, and it takes no more than some trials for each of them.
TEST(suspects, of_any_crowd_the_guilty_are_convicted_and_nobody_else) {
  dice random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int32_t crowd = random.pick(1, 64);
    std::set<request_id> open, guilty, convicted;
    for (std::int32_t id = 0; id < crowd; ++id) open.insert(static_cast<request_id>(id));
    for (std::int32_t i = random.pick(0, std::min(4, crowd)); i > 0; --i)
      guilty.insert(static_cast<request_id>(random.pick(0, crowd - 1)));
    const std::size_t culprits = guilty.size();
    suspects tried;
    int steps = 0;
    for (; steps < 1000; ++steps) {
      std::vector<request_id> step;
      for (const request_id id : open)
        if (tried.may_run(id)) step.push_back(id);
      if (std::ranges::none_of(step, [&](request_id id) { return guilty.contains(id); })) {
        if (tried.empty()) break;
        for (const request_id id : step) tried.acquit(id);
      } else if (const auto found = tried.accuse(step, blame::oldest_step)) {
        ASSERT_TRUE(guilty.contains(*found));
        convicted.insert(*found);
        open.erase(*found);
        guilty.erase(*found);
        tried.forget(*found);
      }
    }
    EXPECT_TRUE(guilty.empty());
    EXPECT_EQ(convicted.size(), culprits);
    EXPECT_LE(steps, 2 + static_cast<int>(culprits) * 18) << "two for each halving";
  }
}

}  // namespace
}  // namespace troupe
