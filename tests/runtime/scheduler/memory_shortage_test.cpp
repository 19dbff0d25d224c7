// A step that the device had no memory for: who waits, and how large the next ones are.
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

TEST_F(memory_shortage, preempts_whoever_ran) {
  run_decodes(8);
  const auto generated = tested->counts().generation_tokens;
  ASSERT_EQ(dispatch()->sequences.size(), 8U);
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(tested->counts().running, 0);
  EXPECT_EQ(tested->counts().waiting, 8);
  EXPECT_EQ(tested->counts().preemptions, 8U);
  EXPECT_EQ(tested->describe(8)->preemptions, 1);
  EXPECT_EQ(tested->counts().generation_tokens, generated);
  EXPECT_TRUE(cache->consistent());
  EXPECT_FALSE(tested->bounds().is_set()) << "such a step has ended before";
}

TEST_F(memory_shortage, has_steps_of_half_the_size_until_more_are_tried) {
  for (request_id id = 1; id <= 8; ++id) submit(make_request(id, 1, {.max_tokens = 900, .ignore_eos = true}));
  ASSERT_EQ(dispatch()->sequences.size(), 8U);
  ASSERT_TRUE(lack_memory());
  for (int i = 0; i < step_bounds::least_patience; ++i) EXPECT_EQ(sequences_of_next(), 4U) << i;
  EXPECT_EQ(sequences_of_next(), 8U);
}

// Each time larger steps turn out to be too much they are tried later: what a preemption costs is made up
// for.
TEST_F(memory_shortage, that_lasts_is_met_seldom) {
  run_decodes(8);
  int lacking = 0;
  for (int steps = 0; steps < 500; ++steps) {
    const step_batch_ptr batch = dispatch();
    if (batch->sequences.size() > 3) {
      ASSERT_TRUE(lack_memory());
      ++lacking;
    } else {
      complete(*batch);
    }
  }
  EXPECT_GT(lacking, 3);
  EXPECT_LT(lacking, 20);
}

// As where another process takes and gives: steps are as large as they were.
TEST_F(memory_shortage, that_comes_by_chance_bounds_nothing) {
  run_decodes(8);
  for (int round = 0; round < 20; ++round) {
    while (dispatch_and_complete()->sequences.size() < 8) {
    }
    ASSERT_EQ(dispatch()->sequences.size(), 8U);
    ASSERT_TRUE(lack_memory());
    EXPECT_FALSE(tested->bounds().is_set());
  }
}

TEST_F(memory_shortage, says_why_somebody_waits) {
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 1, {.ignore_eos = true}));
  ASSERT_EQ(dispatch()->sequences.size(), 4U);
  ASSERT_TRUE(lack_memory());
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(3)->reason,
            "waiting: 2 sequences are running, the device had no memory for a step of more");
  EXPECT_EQ(tested->bounds().sequences(), 2);
}

TEST_F(memory_shortage, cuts_a_prompt_into_smaller_chunks) {
  set_up({.max_num_batched_tokens = 64});
  submit(make_request(1, 100));
  ASSERT_EQ(shape(dispatch()), "1x64");
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(shape(dispatch()), "1x32");
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(shape(dispatch_and_complete()), "1x16");
  EXPECT_EQ(tested->describe(1)->reason, "running: prefill");
  for (int i = 0; i < step_bounds::least_patience; ++i) dispatch_and_complete();
  EXPECT_EQ(tested->bounds().rows(), 32);
}

TEST_F(memory_shortage, leaves_what_earlier_steps_have_stored) {
  set_up({.max_num_batched_tokens = 64, .enable_prefix_caching = true});
  submit(make_request(1, 40, {.ignore_eos = true}));
  submit(make_request(2, 2, {.ignore_eos = true}));
  dispatch_and_complete();
  ASSERT_EQ(shape(dispatch()), "1x1 2x1");
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(shape(dispatch()), "1x9 2x3") << "41 tokens, two blocks of 16 are found";
  lose_device(blame::nobody);
  EXPECT_EQ(shape(dispatch()), "1x41 2x3") << "a device that is lost has stored nothing";
}

// A step that failed has stored nothing, however full its blocks are.
TEST_F(memory_shortage, finds_nothing_of_the_step_itself) {
  set_up({.max_num_batched_tokens = 64, .enable_prefix_caching = true});
  submit(make_request(1, 40));
  ASSERT_EQ(shape(dispatch()), "1x40");
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(shape(dispatch()), "1x20");
}

TEST_F(memory_shortage, of_a_single_row_changes_nothing_but_by_chance) {
  submit(make_request(1, 1));
  ASSERT_EQ(shape(dispatch()), "1x1");
  EXPECT_FALSE(lack_memory());
  EXPECT_EQ(tested->steps_in_flight(), 1);
  EXPECT_EQ(tested->counts().preemptions, 0U);
  EXPECT_FALSE(tested->bounds().is_set());
  lose_device(blame::nobody);
  dispatch_and_complete();
  ASSERT_EQ(shape(dispatch()), "1x1");
  EXPECT_TRUE(lack_memory()) << "one has ended before";
  EXPECT_EQ(tested->counts().preemptions, 1U);
}

// Not of size, nor by chance: its tokens are never sampled, whatever else ends well in between.
TEST_F(memory_shortage, that_one_request_always_meets_is_its_fault_in_the_end) {
  for (const std::size_t prompt : {1U, 64U, 100U, 200U}) {
    set_up({.max_num_batched_tokens = 64});
    submit(make_request(1, 2, {.max_tokens = 300, .ignore_eos = true}));
    submit(make_request(2, prompt));
    std::vector<request_id> failed;
    const auto note = [&failed](const token_batch& events) {
      for (const token_event& event : events)
        if (event.end && event.end->failure) failed.push_back(event.id);
    };
    const auto is_met = [](const step_batch& batch) {
      return std::ranges::any_of(batch.samples, [&batch](const sample_row& each) {
        return batch.sequences[static_cast<std::size_t>(each.sequence)].id == 2;
      });
    };
    for (int steps = 0; steps < 1000 && !tested->open_requests().empty(); ++steps) {
      const step_batch_ptr batch = dispatch();
      ASSERT_NE(batch, nullptr);
      if (!is_met(*batch))
        note(complete(*batch));
      else if (!lack_memory())
        note(lose_device(blame::oldest_step));
    }
    EXPECT_EQ(failed, std::vector<request_id>{2}) << prompt;
    EXPECT_EQ(tested->counts().generation_tokens, 300U) << "whoever is beside it gets on";
  }
}

// It would wait for ever for a step that holds it.
TEST_F(memory_shortage, does_not_cut_prompts_that_are_not_to_be_cut) {
  set_up({.max_num_batched_tokens = 200, .max_model_len = 200, .enable_chunked_prefill = false});
  submit(make_request(1, 60));
  submit(make_request(2, 60));
  ASSERT_EQ(shape(dispatch()), "1x60 2x60");
  ASSERT_TRUE(lack_memory());
  ASSERT_EQ(shape(dispatch()), "1x60");
  EXPECT_FALSE(lack_memory());
}

// But drafts may be left out.
TEST_F(memory_shortage, leaves_drafts_out_beside_prompts_that_are_not_to_be_cut) {
  set_up({.max_num_batched_tokens = 200,
          .max_model_len = 200,
          .enable_chunked_prefill = false,
          .adaptive_drafts = false});
  submit(make_request(1, 4, {.ignore_eos = true}));
  dispatch_and_complete();
  const auto propose = [&] {
    tested->propose({.id = 1, .after = 5, .tokens = {9, 9, 9, 9}, .probabilities = {0.9F, 0.9F, 0.9F, 0.9F}});
  };
  propose();
  ASSERT_EQ(shape(dispatch()), "1x5");
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5") << "its prompt";
  tested->propose({.id = 1, .after = 6, .tokens = {9, 9, 9, 9}, .probabilities = {0.9F, 0.9F, 0.9F, 0.9F}});
  EXPECT_EQ(shape(dispatch()), "1x2") << "half of five rows";
}

// Steps that were planned behind it are gone, too, and so is what they would have fed forward.
TEST_F(memory_shortage, forgets_the_steps_that_were_planned_behind_it) {
  set_up({.max_steps_in_flight = 2});
  for (request_id id = 1; id <= 2; ++id) submit(make_request(id, 2, {.ignore_eos = true}));
  ASSERT_NE(dispatch(), nullptr);
  ASSERT_NE(dispatch(), nullptr);
  EXPECT_EQ(tested->pending_tokens(1), 2);
  ASSERT_TRUE(lack_memory());
  EXPECT_EQ(tested->pending_tokens(1), 0);
  EXPECT_EQ(tested->steps_in_flight(), 0);
  EXPECT_EQ(shape(dispatch()), "1x2") << "from its prompt on, and as many rows as half of it had";
}

}  // namespace
}  // namespace troupe
