// A draft model on the emulated device, beside its target.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/drafting/equal_model_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/overlapped_decoding.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using kernels::cuda::emulation::faults;

class cuda_draft_model : public test::cuda_kernels {
 protected:
  void expect_all_are_accepted(std::int32_t kept_at_once);

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

// What a step asks for by chance.
struct by_chance {
  step_result drawn;
  std::vector<kept_distribution> kept;
  // Drafts that are these tokens, of the sequence `shift` further on.
  std::vector<drafted_token> drafts(std::size_t shift) const {
    std::vector<drafted_token> out;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::size_t of = (i + shift) % kept.size();
      out.push_back({drawn.tokens[of].token, kept[of].view()});
    }
    return out;
  }
};

void run(executor& device, device_batch& batch, step_result& result) {
  device.forward(batch);
  device.sample(batch, nullptr, result);
}

by_chance draft(executor& device, device_batch batch) {
  by_chance out;
  out.kept.resize(batch.samples.size());
  for (kept_distribution& each : out.kept) batch.kept.push_back(&each);
  run(device, batch, out.drawn);
  return out;
}

device_batch that_verifies(device_batch batch, const std::vector<drafted_token>& drafts) {
  for (const drafted_token& each : drafts) batch.verified.push_back(&each);
  for (sample_row& each : batch.samples) each.position += 1;  // other draws
  return batch;
}

// Prompts of one step, each with the parameters that `make` has for its number.
device_batch prompts(executor& device, std::size_t count, sampling_params (*make)(std::size_t)) {
  test::executor_driver driver(device);
  std::vector<test::chunk> chunks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::int32_t>(2 + i % 5);
    chunks.push_back({driver.add(test::prompt_of(length), make(i)), length});
  }
  return driver.build(chunks);
}

// What a token was drawn from is what it is verified against: nothing is left to chance.
TEST_F(cuda_draft_model, an_equal_target_accepts_by_chance_whatever_is_drafted) {
  for (const std::int32_t kept_at_once : {0, 4}) {  // without room the host draws and keeps
    SCOPED_TRACE(kept_at_once);
    expect_all_are_accepted(kept_at_once);
  }
}

void cuda_draft_model::expect_all_are_accepted(std::int32_t kept_at_once) {
  cuda_executor_options options = test::small_cuda_options();
  options.limits.kept_at_once = kept_at_once;
  const auto device = test::start_cuda(model_, options);
  const device_batch batch = prompts(*device, 4, [](std::size_t) {
    sampling_params params;
    params.seed = 3;
    params.temperature = 4.0F;
    return params;
  });
  const by_chance drafted = draft(*device, batch);
  for (const kept_distribution& each : drafted.kept) EXPECT_GT(each.ids.size(), 1U);
  device_batch keeping = batch;
  kept_distribution kept;
  keeping.kept.assign(keeping.samples.size(), &kept);
  device->forward(keeping);
  EXPECT_FALSE(device->begin_sample(keeping, nullptr)) << "what it leaves would be nobody's";
  const std::vector<drafted_token> drafts = drafted.drafts(0);
  device_batch verifying = that_verifies(batch, drafts);
  step_result verified, ahead;
  run(*device, verifying, verified);
  device->forward(verifying);
  ASSERT_TRUE(device->begin_sample(verifying, nullptr)) << "the host has no part in it";
  test::wait_for(*device, ahead);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    EXPECT_EQ(verified.tokens[i].token, drafts[i].token) << i;
    EXPECT_EQ(ahead.tokens[i].token, drafts[i].token) << i;
  }
}

sampling_params of_some_kind(std::size_t number) {
  sampling_params params;
  params.seed = number * 7919;
  params.temperature = std::array{1.0F, 4.0F, 0.0F, 0.5F}[number % 4];
  params.top_p = std::array{1.0F, 0.9F, 0.4F}[number % 3];
  params.top_k = std::array{0, 0, 5, 40, 1}[number % 5];
  params.min_p = number % 7 == 0 ? 0.05F : 0.0F;
  if (number % 2 == 1) params.repetition_penalty = 1.5F;
  if (number % 6 == 1) params.logit_bias = {{17, 4.0F}, {40, -3.0F}};
  return params;
}

device_batch with_logprobs(device_batch batch, std::int32_t of_most_likely) {
  for (sample_row& each : batch.samples) {
    sampling_params params = *each.sampling;
    params.logprobs = of_most_likely;
    each.sampling = std::make_shared<const sampling_params>(params);
  }
  return batch;
}

// The same as weights of all tokens.
std::vector<float> dense(const token_distribution& of, std::int32_t vocab_size) {
  std::vector<float> weights(static_cast<std::size_t>(vocab_size), 0.0F);
  for (std::size_t i = 0; i < of.ids.size(); ++i)
    weights[static_cast<std::size_t>(of.ids[i])] = of.weights[i];
  return weights;
}

// So many of a kernel since this has been made.
class launches {
 public:
  explicit launches(std::string_view kernel) : before_(faults().on_launch) {
    faults().on_launch = [this, kernel](std::string_view launched) {
      if (before_) before_(launched);
      count_ += launched == kernel ? 1 : 0;
    };
  }
  ~launches() { faults().on_launch = before_; }
  launches(const launches&) = delete;
  launches& operator=(const launches&) = delete;
  int count() const { return count_; }

 private:
  std::function<void(std::string_view)> before_;
  int count_ = 0;
};

// More of them than the device has room for at once, to keep and with changed logits.
TEST_F(cuda_draft_model, draws_keeps_and_verifies_by_chance_as_the_host_does) {
  cuda_executor_options options = test::small_cuda_options();
  options.limits = {.max_rows = 256,
                    .max_sequences = 40,
                    .block_size = 16,
                    .kv_cache_bytes = 4U << 20U,
                    .kept_at_once = 16};
  const auto device = test::start_cuda(model_, options);
  const device_batch batch = with_logprobs(prompts(*device, 40, of_some_kind), 0);  // as draft models do
  const device_batch on_host = with_logprobs(batch, 65);  // more than the device tells
  launches keeping("write_kept_tokens");
  launches verifying_there("draw_rejected");
  const by_chance there = draft(*device, batch);
  EXPECT_GE(keeping.count(), 40 / 16) << "by the device";
  const int kept_there = keeping.count();
  const by_chance here = draft(*device, on_host);
  EXPECT_EQ(keeping.count(), kept_there) << "by the host";
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    EXPECT_EQ(there.drawn.tokens[i].token, here.drawn.tokens[i].token) << i;
    EXPECT_EQ(there.kept[i].ids, here.kept[i].ids) << i;
    EXPECT_EQ(there.kept[i].weights, here.kept[i].weights) << i;
    EXPECT_NEAR(there.drawn.tokens[i].logprobs->logprob, here.drawn.tokens[i].logprobs->logprob, 1e-5) << i;
  }
  int rejected = 0;
  for (const std::size_t shift : {0, 1, 4}) {
    const std::vector<drafted_token> drafts = there.drafts(shift);
    device_batch verifying = that_verifies(batch, drafts), verifying_here = that_verifies(on_host, drafts);
    std::vector<drafted_token> all_weights = drafts;
    std::vector<std::vector<float>> weights;
    for (const drafted_token& each : drafts)
      weights.push_back(dense(each.distribution, model_->config.vocab_size));
    for (std::size_t i = 0; i < drafts.size(); ++i) all_weights[i].distribution = {{}, weights[i]};
    device_batch verifying_all = that_verifies(batch, all_weights);
    step_result verified, verified_here, verified_all;
    const int before = verifying_there.count();
    run(*device, verifying_here, verified_here);
    EXPECT_EQ(verifying_there.count(), before) << "by the host";
    run(*device, verifying, verified);
    EXPECT_GT(verifying_there.count(), before) << "by the device";
    run(*device, verifying_all, verified_all);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      EXPECT_EQ(verified.tokens[i].token, verified_here.tokens[i].token) << shift << " " << i;
      EXPECT_EQ(verified.tokens[i].token, verified_all.tokens[i].token) << shift << " " << i;
      rejected += verified.tokens[i].token != drafts[i].token ? 1 : 0;
    }
  }
  EXPECT_GT(rejected, 10);
  EXPECT_LT(rejected, 110);
}

}  // namespace
}  // namespace troupe
