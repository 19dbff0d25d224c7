// A draft model on the emulated device, beside its target.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "runtime/executor_cuda/cuda_device.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/drafting/equal_model_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

class cuda_draft_model : public test::cuda_kernels {
 protected:
  const model_ptr model_ = test::load_from_memory(test::tiny_model(
      {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .num_layers = 2}));
};

TEST_F(cuda_draft_model, drafts_what_an_equal_target_samples) {
  const auto target = test::start_cuda(model_, test::small_cuda_options());
  test::expect_right_drafts_of_an_equal_model(test::start_cuda(model_, test::small_cuda_options()), *target,
                                              model_->config.vocab_size);
}

// What is left beside weights and steps of both is both caches', and all of it.
TEST_F(cuda_draft_model, shares_the_memory_that_is_left_with_its_target) {
  cuda_executor_options options = test::small_cuda_options();
  options.memory_utilization = 0.25;
  auto target = load_cuda_executor(model_, options);
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_TRUE((*target)->profile());
  options.kv_cache_dtype = "int8";
  auto drafting = load_cuda_executor(model_, options);
  ASSERT_TRUE(drafting) << drafting.error().message;
  ASSERT_TRUE((*drafting)->profile());

  const std::size_t bytes_beside = (*drafting)->layout().bytes_per_block;
  ASSERT_NE(bytes_beside, (*target)->layout().bytes_per_block);
  ASSERT_TRUE((*target)->take_kv_cache({.bytes_beside = bytes_beside}));
  const std::int32_t num_blocks = (*target)->layout().num_blocks;
  ASSERT_GT(num_blocks, 1000);
  ASSERT_TRUE((*drafting)->take_kv_cache({.num_blocks = num_blocks}));
  EXPECT_EQ((*drafting)->layout().num_blocks, num_blocks);

  test::capture_graphs(**target);
  test::capture_graphs(**drafting);
  const auto [free, total] = ask_device_memory();
  const auto used = static_cast<double>(total - free);
  const double share = 0.25 * static_cast<double>(total);
  EXPECT_LE(used, share + 4096);
  EXPECT_GE(used, share - 2.0 * static_cast<double>(bytes_beside + (*target)->layout().bytes_per_block));
}

// What a token was drawn from is what it is verified against: nothing is left to chance.
TEST_F(cuda_draft_model, an_equal_target_accepts_by_chance_whatever_is_drafted) {
  const auto device = test::start_cuda(model_, test::small_cuda_options());
  sampling_params params;
  params.seed = 3;
  params.temperature = 4.0F;
  test::executor_driver driver(*device);
  std::vector<test::chunk> chunks;
  for (std::int32_t i = 0; i < 4; ++i) chunks.push_back({driver.add(test::prompt_of(6 + i), params), 6 + i});
  device_batch batch = driver.build(chunks);
  std::vector<kept_distribution> kept(chunks.size());
  for (kept_distribution& each : kept) batch.kept.push_back(&each);
  step_result drafted;
  device->forward(batch);
  device->sample(batch, nullptr, drafted);

  batch.kept.clear();
  std::vector<drafted_token> drafts;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_GT(kept[i].ids.size(), 1U);
    drafts.push_back({drafted.tokens[i].token, kept[i].view()});
  }
  for (const drafted_token& each : drafts) batch.verified.push_back(&each);
  for (sample_row& each : batch.samples) each.position += 1;  // other draws
  step_result verified;
  device->forward(batch);
  EXPECT_FALSE(device->begin_sample(batch, nullptr)) << "the host has its part in it";
  device->sample(batch, nullptr, verified);
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(verified.tokens[i].token, drafted.tokens[i].token) << i;
}

}  // namespace
}  // namespace troupe
