#include "runtime/engine/engine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <stdexcept>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"

namespace troupe {
namespace {

scheduler_limits small_limits() {
  scheduler_limits limits;
  limits.max_num_seqs = 4;
  limits.max_num_batched_tokens = 16;
  limits.max_model_len = 64;
  limits.end_tokens = {0};
  return limits;
}

// The sampled token is its own position.
std::unique_ptr<executor> counting_executor(std::int32_t num_blocks) {
  return make_null_executor({.block_size = 4, .num_blocks = num_blocks},
                            [](const sample_row& row) { return row.position; });
}

engine_request request(request_id id, std::size_t prompt_length, std::int32_t max_tokens) {
  sampling_params params;
  params.max_tokens = max_tokens;
  return {.id = id,
          .prompt = std::vector<token_id>(prompt_length, 7),
          .sampling = std::make_shared<const sampling_params>(params)};
}

std::map<request_id, std::vector<token_id>> answers_of(engine& engine) {
  std::map<request_id, std::vector<token_id>> tokens;
  while (!engine.idle()) {
    for (const token_event& event : engine.step()) {
      auto& own = tokens[event.id];
      own.insert(own.end(), event.tokens.begin(), event.tokens.end());
    }
  }
  return tokens;
}

TEST(engine, runs_requests_of_mixed_length_to_their_max_tokens) {
  engine engine(counting_executor(32), small_limits());
  ASSERT_TRUE(engine.submit(request(1, 3, 4)));
  ASSERT_TRUE(engine.submit(request(2, 40, 2)));
  const auto tokens = answers_of(engine);
  EXPECT_EQ(tokens.at(1), (std::vector<token_id>{3, 4, 5, 6}));
  EXPECT_EQ(tokens.at(2), (std::vector<token_id>{40, 41}));
  EXPECT_EQ(engine.kv_cache().free_blocks(), 32);
  EXPECT_TRUE(engine.kv_cache().consistent());
}

TEST(engine, a_second_turn_finds_every_full_block_of_the_first) {
  for (std::int32_t answer = 1; answer <= 20; ++answer) {
    for (const std::int32_t in_flight : {1, 2}) {
      scheduler_limits limits = small_limits();
      limits.enable_prefix_caching = true;
      limits.max_steps_in_flight = in_flight;
      engine engine(counting_executor(64), limits);
      ASSERT_TRUE(engine.submit(request(1, 10, answer)));
      const std::vector<token_id> answered = answers_of(engine).at(1);
      engine_request again = request(2, 10, 1);
      again.prompt.insert(again.prompt.end(), answered.begin(), answered.end());
      again.prompt.insert(again.prompt.end(), {1, 2, 3});
      ASSERT_TRUE(engine.submit(again));
      answers_of(engine);
      // The last token of the answer was never computed.
      EXPECT_EQ(engine.scheduler().counts().cached_tokens, (10 + answer - 1) / 4 * 4) << answer;
    }
  }
}

TEST(engine, deadlines_end_requests_when_the_caller_tells_the_time) {
  engine engine(counting_executor(32), small_limits());
  engine_request hasty = request(1, 3, 40);
  hasty.deadline = steady_time{} + std::chrono::seconds(5);
  ASSERT_TRUE(engine.submit(std::move(hasty)));
  ASSERT_TRUE(engine.submit(request(2, 3, 4)));
  engine.step();
  EXPECT_TRUE(engine.expire(steady_time{} + std::chrono::seconds(4)).empty());
  const token_batch ended = engine.expire(steady_time{} + std::chrono::seconds(6));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].id, 1U);
  EXPECT_EQ(answers_of(engine).count(2), 1U);
  EXPECT_EQ(engine.kv_cache().free_blocks(), 32);
}

class row_counter final : public forwarding_executor {
 public:
  row_counter(std::unique_ptr<executor> inner, std::int64_t& rows)
      : forwarding_executor(std::move(inner)), rows_(rows) {}
  void forward(const device_batch& batch) override { rows_ += batch.num_rows(); }

 private:
  std::int64_t& rows_;
};

TEST(engine, a_preempted_request_computes_nothing_again_that_is_still_cached) {
  std::int64_t rows = 0;
  scheduler_limits limits = small_limits();
  limits.enable_prefix_caching = true;
  engine engine(std::make_unique<row_counter>(counting_executor(5), rows), limits);
  ASSERT_TRUE(engine.submit(request(1, 8, 3)));
  engine_request other = request(2, 8, 3);
  other.prompt.assign(8, 5);
  ASSERT_TRUE(engine.submit(std::move(other)));
  answers_of(engine);
  EXPECT_EQ(engine.scheduler().counts().preemptions, 1U);
  EXPECT_EQ(rows, 2 * (8 + 2));
}

TEST(engine, abort_ends_a_running_request_and_frees_its_blocks) {
  engine engine(counting_executor(32), small_limits());
  ASSERT_TRUE(engine.submit(request(1, 3, 40)));
  engine.step();
  const token_batch events = engine.abort(1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].end->reason, finish_reason::abort);
  EXPECT_EQ(events[0].end->tokens.completion_tokens, 1);
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.kv_cache().free_blocks(), 32);
  EXPECT_TRUE(engine.abort(1).empty());
}

TEST(engine, a_step_that_throws_is_computed_again) {
  auto fails_once = [failed = false](const sample_row& row) mutable {
    if (row.position == 4 && !std::exchange(failed, true)) throw std::runtime_error("lost");
    return row.position;
  };
  engine engine(make_null_executor({.block_size = 4, .num_blocks = 8}, fails_once), small_limits());
  ASSERT_TRUE(engine.submit(request(1, 3, 3)));
  EXPECT_EQ(answers_of(engine).at(1), (std::vector<token_id>{3, 4, 5}));
  EXPECT_EQ(engine.kv_cache().free_blocks(), 8);
}

TEST(engine, a_request_with_which_every_step_throws_ends_alone) {
  const auto throws_for_long = [](const sample_row& row) {
    if (row.prompt_length == 7) throw std::runtime_error("lost");
    return row.position;
  };
  engine engine(make_null_executor({.block_size = 4, .num_blocks = 8}, throws_for_long), small_limits());
  for (const request_id id : {1, 2, 3}) ASSERT_TRUE(engine.submit(request(id, id == 2 ? 7 : 3, 3)));
  std::optional<finished> end;
  std::size_t tokens = 0;
  for (int steps = 0; steps < 40 && !engine.idle(); ++steps)
    for (const token_event& event : engine.step()) {
      tokens += event.tokens.size();
      if (event.id == 2 && event.end) end = *event.end;
    }
  ASSERT_TRUE(end && end->failure);
  EXPECT_EQ(end->failure->code, error_code::internal);
  EXPECT_EQ(tokens, 6U);
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.kv_cache().free_blocks(), 8);
}

}  // namespace
}  // namespace troupe
