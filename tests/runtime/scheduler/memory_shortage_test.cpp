// A step that the device had no memory for: who waits, how large the next ones are, and when somebody is to
// blame.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/scheduler/step_bounds.hpp"
#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class memory_shortage : public scheduler_test {
 protected:
  // So many that have begun.
  void run_decodes(request_id count) {
    for (request_id id = 1; id <= count; ++id)
      submit(make_request(id, 2, {.max_tokens = 900, .ignore_eos = true}));
    for (request_id i = 0; i < count; ++i) ASSERT_NE(dispatch_and_complete(), nullptr);
    ASSERT_EQ(tested->counts().running, static_cast<std::int32_t>(count));
  }
  std::size_t sequences_of_next() { return dispatch_and_complete()->sequences.size(); }
};

TEST_F(memory_shortage, preempts_all_and_half_of_them_run_until_more_may_be_tried) {
  run_decodes(8);
  const auto generated = tested->counts().generation_tokens;
  ASSERT_EQ(dispatch()->sequences.size(), 8U);
  EXPECT_TRUE(lack_memory().empty()) << "nobody is to blame";
  EXPECT_EQ(tested->counts().running, 0);
  EXPECT_EQ(tested->counts().waiting, 8);
  EXPECT_EQ(tested->counts().preemptions, 8U);
  EXPECT_EQ(tested->describe(8)->preemptions, 1);
  EXPECT_EQ(tested->counts().generation_tokens, generated);
  EXPECT_TRUE(cache->consistent());

  std::vector<std::size_t> sizes;
  for (int i = 0; i < 3 * step_bounds::steps_before_more; ++i) sizes.push_back(sequences_of_next());
  EXPECT_EQ(*std::max_element(sizes.begin(), sizes.begin() + step_bounds::steps_before_more), 4U);
  EXPECT_EQ(sizes.back(), 8U);
  EXPECT_EQ(tested->counts().preemptions, 8U);
}

TEST_F(memory_shortage, says_why_somebody_waits) {
  run_decodes(4);
  ASSERT_NE(dispatch(), nullptr);
  lack_memory();
  for (int i = 0; i < 4; ++i) dispatch_and_complete();
  EXPECT_EQ(tested->describe(3)->reason,
            "waiting: 2 sequences are running, the device had no memory for a step of more");
  EXPECT_EQ(tested->bounds().sequences(), 2);
}

TEST_F(memory_shortage, cuts_a_prompt_into_smaller_chunks) {
  set_up({.max_num_batched_tokens = 64});
  submit(make_request(1, 100));
  ASSERT_EQ(shape(dispatch()), "1x64");
  lack_memory();
  EXPECT_EQ(shape(dispatch_and_complete()), "1x32");
  ASSERT_EQ(shape(dispatch()), "1x32");
  lack_memory();
  EXPECT_EQ(shape(dispatch_and_complete()), "1x16");
  EXPECT_EQ(tested->describe(1)->reason, "running: prefill");
}

TEST_F(memory_shortage, leaves_what_earlier_steps_have_stored) {
  set_up({.max_num_batched_tokens = 64, .enable_prefix_caching = true});
  submit(make_request(1, 40));
  dispatch_and_complete();
  ASSERT_NE(dispatch(), nullptr);
  lack_memory();
  EXPECT_EQ(shape(dispatch()), "1x9") << "41 tokens, two blocks of 16 are found";
  lose_device(blame::nobody);
  EXPECT_EQ(shape(dispatch()), "1x41") << "a device that is lost has stored nothing";
}

// A step that failed has stored nothing, however full its blocks are.
TEST_F(memory_shortage, finds_nothing_of_the_step_itself) {
  set_up({.max_num_batched_tokens = 64, .enable_prefix_caching = true});
  submit(make_request(1, 40));
  ASSERT_EQ(shape(dispatch()), "1x40");
  lack_memory();
  EXPECT_EQ(shape(dispatch()), "1x20");
}

TEST_F(memory_shortage, is_the_fault_of_a_row_that_cannot_be_smaller) {
  submit(make_request(1, 1));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(shape(dispatch()), "1x1");
    const token_batch events = lack_memory();
    if (i == 0) {
      EXPECT_TRUE(events.empty());
    } else {
      ASSERT_EQ(events.size(), 1U);
      EXPECT_EQ(events[0].end->failure->code, error_code::internal);
    }
  }
  EXPECT_EQ(tested->counts().preemptions, 0U);
  EXPECT_FALSE(tested->bounds().are_set());
}

// It would wait for ever for a step that holds it.
TEST_F(memory_shortage, does_not_cut_prompts_that_are_not_to_be_cut) {
  set_up({.max_num_batched_tokens = 200, .max_model_len = 200, .enable_chunked_prefill = false});
  submit(make_request(1, 60));
  submit(make_request(2, 60));
  ASSERT_EQ(shape(dispatch()), "1x60 2x60");
  EXPECT_TRUE(lack_memory().empty());
  ASSERT_EQ(shape(dispatch()), "1x60");
  EXPECT_TRUE(lack_memory().empty()) << "once is no proof";
  ASSERT_EQ(shape(dispatch()), "1x60");
  ASSERT_EQ(lack_memory().size(), 1U);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x60");
}

// Steps that were planned behind it are gone, too, and so is what they would have fed forward.
TEST_F(memory_shortage, forgets_the_steps_that_were_planned_behind_it) {
  set_up({.max_steps_in_flight = 2});
  for (request_id id = 1; id <= 2; ++id) submit(make_request(id, 2, {.ignore_eos = true}));
  ASSERT_NE(dispatch(), nullptr);
  ASSERT_NE(dispatch(), nullptr);
  EXPECT_EQ(tested->pending_tokens(1), 2);
  EXPECT_TRUE(lack_memory().empty());
  EXPECT_EQ(tested->pending_tokens(1), 0);
  EXPECT_EQ(tested->steps_in_flight(), 0);
  EXPECT_EQ(shape(dispatch()), "1x2") << "from its prompt on, and as many rows as half of it had";
}

}  // namespace
}  // namespace troupe
