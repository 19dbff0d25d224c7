// Who is blamed for a device that is lost, and who is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/scheduler/suspects.hpp"
#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class replay : public scheduler_test {
 protected:
  void SetUp() override { set_up({.max_num_batched_tokens = 4}); }

  // In ascending order.
  static std::vector<request_id> ids_of(const step_batch& batch) {
    std::vector<request_id> ids;
    for (const sequence_rows& rows : batch.sequences) ids.push_back(rows.id);
    std::ranges::sort(ids);
    return ids;
  }

  // So many chunks of the one long prompt, or tokens behind it, and the next step takes the device along.
  token_batch lose_device_after(int steps, blame whose) {
    for (int i = 0; i < steps; ++i) EXPECT_FALSE(dispatch_and_complete()->sequences.empty());
    EXPECT_NE(dispatch(), nullptr);
    return lose_device(whose);
  }
};

TEST_F(replay, a_prompt_that_gets_further_each_time_is_not_blamed) {
  submit(make_request(1, 40));
  for (int chunks = 0; chunks < 6; ++chunks)
    ASSERT_TRUE(lose_device_after(chunks, blame::oldest_step).empty()) << chunks;
  for (int i = 0; i < 10; ++i) ASSERT_NE(dispatch_and_complete(), nullptr);
  EXPECT_EQ(tested->counts().generation_tokens, 1U);
}

TEST_F(replay, a_prompt_that_crashes_at_the_same_place_is_convicted_though_its_beginning_is_computed) {
  submit(make_request(1, 40));
  ASSERT_TRUE(lose_device_after(2, blame::oldest_step).empty());
  const token_batch events = lose_device_after(2, blame::oldest_step);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].end->reason, finish_reason::error);
}

TEST_F(replay, whose_device_is_killed_is_not_blamed_wherever_that_is) {
  submit(make_request(1, 40));
  for (int i = 1; i < suspects::kills_that_convict; ++i)
    ASSERT_TRUE(lose_device_after(2, blame::perhaps_oldest_step).empty()) << i;
  for (int i = 0; i < 10; ++i) ASSERT_NE(dispatch_and_complete(), nullptr);
  for (int i = 0; i < suspects::kills_that_convict; ++i) {
    for (const auto before = tested->counts().generation_tokens;
         tested->counts().generation_tokens == before;)
      ASSERT_NE(dispatch_and_complete(), nullptr);
    ASSERT_TRUE(lose_device_after(0, blame::perhaps_oldest_step).empty()) << "it gets further each time";
  }
}

TEST_F(replay, whoever_makes_room_for_suspects_is_not_preempted) {
  set_up({});
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 2));
  complete(*dispatch());
  ASSERT_NE(dispatch(), nullptr);
  lose_device(blame::oldest_step);
  std::vector<std::vector<request_id>> steps;
  for (int i = 0; i < 3; ++i) steps.push_back(ids_of(*dispatch_and_complete()));
  EXPECT_EQ(steps, (std::vector<std::vector<request_id>>{{1, 2}, {3, 4}, {1, 2, 3, 4}}))
      << "whoever has got over it is not beside those who are still to be tried";
  for (int i = 0; i < 5; ++i) dispatch_and_complete();
  EXPECT_EQ(tested->counts().running, 4);
  EXPECT_EQ(tested->counts().preemptions, 0U);
  EXPECT_EQ(tested->describe(4)->preemptions, 0);
}

}  // namespace
}  // namespace troupe
