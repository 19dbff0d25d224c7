// A worked example of three prompts in blocks of 4, and other small cases, through the whole engine.
#include <gtest/gtest.h>

#include <map>

#include "runtime/engine/engine.hpp"
#include "tests/support/paged_executor.hpp"

namespace troupe {
namespace {

using numbers_of_batch = std::vector<std::int32_t>;

// Keeps what it was sent; samples 14, 15, 16, ...
class recording_executor final : public executor {
 public:
  recording_executor(kv_layout layout, std::vector<device_batch>& batches)
      : layout_(std::move(layout)), batches_(batches) {}
  kv_layout layout() const override { return layout_; }
  std::string kernel_path() const override { return "recording"; }
  void forward(const device_batch& batch) override { batches_.push_back(batch); }
  void sample(const device_batch& batch, const step_masks*, step_result& result) override {
    result.step = batch.step;
    result.tokens.clear();
    token_id token = 14;
    for (const sample_row& row : batch.samples) {
      sampled_token& sampled = result.tokens.emplace_back();
      sampled.id = batch.sequences[static_cast<std::size_t>(row.sequence)].id;
      sampled.token = token++;
    }
  }

 private:
  kv_layout layout_;
  std::vector<device_batch>& batches_;
};

numbers_of_batch query_start_loc(const device_batch& batch) {
  numbers_of_batch starts;
  for (const sequence_rows& rows : batch.sequences) starts.push_back(rows.first_row);
  starts.push_back(batch.num_rows());
  return starts;
}

numbers_of_batch seq_lens(const device_batch& batch) {
  numbers_of_batch lengths;
  for (const sequence_rows& rows : batch.sequences)
    lengths.push_back(batch.positions[static_cast<std::size_t>(rows.first_row + rows.num_rows) - 1] + 1);
  return lengths;
}

engine_request request(request_id id, std::vector<token_id> prompt, std::int32_t max_tokens) {
  sampling_params params;
  params.max_tokens = max_tokens;
  params.seed = id;
  engine_request made;
  made.id = id;
  made.prompt = std::move(prompt);
  made.sampling = std::make_shared<const sampling_params>(params);
  return made;
}

scheduler_limits limits_of(std::int32_t max_num_batched_tokens) {
  scheduler_limits limits;
  limits.max_num_seqs = 8;
  limits.max_num_batched_tokens = max_num_batched_tokens;
  limits.max_model_len = 512;
  limits.enable_prefix_caching = true;
  return limits;
}

TEST(document_004, three_prompts_prefill_and_decode_in_the_slots_of_the_example) {
  std::vector<device_batch> batches;
  kv_layout layout;
  layout.block_size = 4;
  layout.num_blocks = 16;
  engine engine(std::make_unique<recording_executor>(layout, batches), limits_of(64));
  // The document counts blocks from 1: an earlier request has left its content in block 0.
  ASSERT_TRUE(engine.submit(request(1, {100, 101, 102, 103, 104}, 1)));
  while (!engine.idle()) engine.step();
  batches.clear();

  ASSERT_TRUE(engine.submit(request(2, {1, 2, 3, 4, 5}, 2)));
  ASSERT_TRUE(engine.submit(request(3, {1, 6, 5, 7, 8, 9, 10}, 2)));
  ASSERT_TRUE(engine.submit(request(4, {1, 12, 13}, 2)));
  while (!engine.idle()) engine.step();
  ASSERT_EQ(batches.size(), 2U);

  const device_batch& prefill = batches[0];
  EXPECT_EQ(prefill.tokens, (numbers_of_batch{1, 2, 3, 4, 5, 1, 6, 5, 7, 8, 9, 10, 1, 12, 13}));
  EXPECT_EQ(prefill.positions, (numbers_of_batch{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2}));
  EXPECT_EQ(prefill.slots, (numbers_of_batch{4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22}));
  EXPECT_EQ(query_start_loc(prefill), (numbers_of_batch{0, 5, 12, 15}));
  EXPECT_EQ(seq_lens(prefill), (numbers_of_batch{5, 7, 3}));

  const device_batch& decode = batches[1];
  EXPECT_EQ(decode.tokens, (numbers_of_batch{14, 15, 16}));
  EXPECT_EQ(decode.positions, (numbers_of_batch{5, 7, 3}));
  EXPECT_EQ(decode.slots, (numbers_of_batch{9, 19, 23}));
  EXPECT_EQ(query_start_loc(decode), (numbers_of_batch{0, 1, 2, 3}));
  EXPECT_EQ(seq_lens(decode), (numbers_of_batch{6, 8, 4}));
}

TEST(document_004, the_second_request_behind_a_shared_prompt_computes_its_own_block_only) {
  std::vector<device_batch> batches;
  kv_layout layout;
  layout.block_size = 4;
  layout.num_blocks = 16;
  engine engine(std::make_unique<recording_executor>(layout, batches), limits_of(64));
  std::vector<token_id> first(16, 7);
  std::vector<token_id> second = first;
  second[12] = 8;
  ASSERT_TRUE(engine.submit(request(1, first, 3)));
  engine.step();
  ASSERT_TRUE(engine.submit(request(2, second, 3)));
  engine.step();
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[1].positions, (numbers_of_batch{16, 12, 13, 14, 15}))
      << "a decode, and one block of four";
  for (const std::int32_t block : batches[1].table(1).first(3))
    EXPECT_EQ(engine.kv_cache().references(block), 2);
}

// Prompts that share beginnings of every length, through a pool that is too small for all.
std::map<request_id, std::vector<token_id>> answers(std::int32_t block_size, bool prefix_caching) {
  kv_layout layout;
  layout.block_size = block_size;
  layout.num_blocks = 256 / block_size;
  scheduler_limits limits = limits_of(24);
  limits.enable_prefix_caching = prefix_caching;
  engine engine(std::make_unique<paged_executor>(layout, 50), limits);
  for (request_id id = 1; id <= 24; ++id) {
    std::vector<token_id> prompt(40 + 3 * id % 17, 7);
    for (std::size_t i = 2 * id; i < prompt.size(); ++i) prompt[i] = static_cast<token_id>(i % (id + 1));
    EXPECT_TRUE(engine.submit(request(id, prompt, 40)));
  }
  std::map<request_id, std::vector<token_id>> tokens;
  while (!engine.idle()) {
    for (const token_event& event : engine.step()) {
      auto& own = tokens[event.id];
      own.insert(own.end(), event.tokens.begin(), event.tokens.end());
    }
    EXPECT_EQ(engine.kv_cache().check(), "");
  }
  EXPECT_EQ(engine.kv_cache().free_blocks(), layout.num_blocks);
  EXPECT_EQ(engine.kv_cache().counts().hits > 0, prefix_caching);
  return tokens;
}

TEST(document_004, block_sizes_1_16_and_32_give_equal_tokens_with_and_without_prefix_caching) {
  const auto expected = answers(16, false);
  ASSERT_EQ(expected.size(), 24U);
  for (const auto& [id, tokens] : expected) EXPECT_EQ(tokens.size(), 40U);
  for (const std::int32_t block_size : {1, 16, 32}) {
    EXPECT_EQ(answers(block_size, true), expected) << "block size " << block_size;
    EXPECT_EQ(answers(block_size, false), expected) << "block size " << block_size;
  }
}

}  // namespace
}  // namespace troupe
