#include "runtime/executor_cuda/cuda_executor.hpp"

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/token_bits.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::executor_driver;
using test::small_cuda_options;
using test::start_cpu;
using test::start_cuda;

// bf16 rounds activations to 8 bits: where the two best tokens are nearer than this the CPU's choice is
// chance.
constexpr float clear_margin = 0.1F;

class cuda_executor : public test::cuda_kernels {
 protected:
  static model_ptr load(test::tiny_kind kind, std::uint64_t seed = 1) {
    return test::load_from_memory(test::tiny_model({.kind = kind,
                                                    .weights = gguf::tensor_type::bf16,
                                                    .embedding = gguf::tensor_type::bf16,
                                                    .seed = seed,
                                                    .num_layers = 2}));
  }

  static std::vector<token_id> prompt_of(std::size_t length, const model& model, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<token_id> prompt(length);
    for (token_id& each : prompt)
      each = static_cast<token_id>(random() % static_cast<std::uint32_t>(model.config.vocab_size));
    return prompt;
  }
};

// Until the first token that the CPU itself is not sure of; then both would go on from different texts.
TEST_F(cuda_executor, greedy_tokens_are_those_of_the_cpu_for_every_kind_of_model) {
  constexpr std::int32_t wanted = 12;
  for (const test::tiny_kind kind : test::all_tiny_kinds) {
    SCOPED_TRACE(test::to_string(kind));
    const model_ptr model = load(kind);
    const auto device = start_cuda(model, small_cuda_options());
    const auto cpu = start_cpu(model);
    std::size_t compared = 0;
    for (const std::size_t length : {1U, 5U, 17U, 33U, 40U}) {
      const std::vector<token_id> prompt = prompt_of(length, *model, static_cast<std::uint32_t>(length));
      compared += test::compare_greedy(*device, *cpu, prompt, wanted, clear_margin);
    }
    EXPECT_GE(compared, 12U) << "too little was compared to mean anything";
  }
}

std::vector<float> all_of(const test::driver_sequence& sequence) {
  std::vector<float> values;
  for (const token_logprobs& each : sequence.logprobs)
    for (const auto& [token, logprob] : each.top)
      values.insert(values.end(), {static_cast<float>(token), logprob});
  return values;
}

sampling_params greedy_with_all_logprobs(const model_ptr& model) {
  sampling_params params = test::greedy();
  params.logprobs = model->config.vocab_size;
  return params;
}

// Alone and in one step; whole and in chunks; beside others, as a graph and eagerly: every logit.
TEST_F(cuda_executor, the_bits_of_a_row_do_not_depend_on_its_company) {
  const model_ptr model = load(test::tiny_kind::qwen3);
  const std::vector<token_id> prompt = prompt_of(37, *model, 3);
  const auto alone = [&](const cuda_executor_options& options) {
    const auto device = start_cuda(model, options);
    executor_driver driver(*device);
    const auto sequence = driver.add(prompt, greedy_with_all_logprobs(model));
    driver.generate(sequence, 3);
    return all_of(driver[sequence]);
  };
  const std::vector<float> expected = alone(small_cuda_options());
  ASSERT_FALSE(expected.empty());
  cuda_executor_options eager = small_cuda_options();
  eager.graph_rows.clear();
  EXPECT_EQ(alone(eager), expected);

  const auto device = start_cuda(model, small_cuda_options());
  executor_driver driver(*device);
  const auto other = driver.add(prompt_of(9, *model, 4), test::greedy());
  const auto third = driver.add(prompt_of(20, *model, 5), test::greedy());
  const auto sequence = driver.add(prompt, greedy_with_all_logprobs(model));
  driver.step({{other, 9}, {sequence, 13}});
  driver.step({{other, 1}, {sequence, 24}, {third, 20}});
  driver.step({{other, 1}, {sequence, 1}, {third, 1}});  // a graph of four rows
  driver.step({{sequence, 1}});
  EXPECT_EQ(all_of(driver[sequence]), expected);
}

// Products that are summed by the number of their rows, as a library's may be.
TEST_F(cuda_executor, the_bits_of_a_row_depend_on_its_company_only_where_products_may) {
  const model_ptr model = load(test::tiny_kind::llama);
  const std::vector<token_id> prompt = prompt_of(20, *model, 3);
  for (const bool batch_invariant : {true, false}) {
    cuda_executor_options options = small_cuda_options();
    options.open_gemm = test::open_gemm_in_parts;
    options.batch_invariant = batch_invariant;
    const auto device = start_cuda(model, options);
    executor_driver alone(*device);
    const auto one = alone.add(prompt, greedy_with_all_logprobs(model));
    alone.generate(one, 2);
    executor_driver beside(*device);
    const auto other = beside.add(prompt_of(9, *model, 4), test::greedy());
    const auto same = beside.add(prompt, greedy_with_all_logprobs(model));
    beside.step({{other, 9}, {same, 13}});
    beside.step({{other, 1}, {same, 7}});
    beside.step({{other, 1}, {same, 1}});
    EXPECT_EQ(all_of(beside[same]) == all_of(alone[one]), batch_invariant);
  }
}

TEST_F(cuda_executor, the_device_draws_the_tokens_that_the_host_draws_from_the_same_logits) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  sampling_params random;
  random.temperature = 1.5F;
  random.seed = 77;
  std::vector<sampling_params> kinds(5, random);
  kinds[1].top_k = 7;
  kinds[2].top_p = 0.8F;
  kinds[3].min_p = 0.05F;
  kinds[3].repetition_penalty = 1.3F;
  kinds[3].frequency_penalty = 0.4F;
  kinds[4].min_tokens = 20;
  kinds[4].stop_token_ids = {5, 3, 5};
  kinds[4].logit_bias = {{12, -100.0F}, {11, 2.5F}, {40, 1.0F}, {11, 1.6F}};  // not in the order of ids
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    executor_driver there(*device);
    executor_driver here(*device);
    const std::vector<token_id> prompt = prompt_of(8, *model, 6);
    const auto drawn = there.add(prompt, kinds[i]);
    there.generate(drawn, 6);
    kinds[i].logprobs = 100;  // more than the device tells: sampled on the host
    const auto expected = here.add(prompt, kinds[i]);
    here.generate(expected, 6);
    EXPECT_EQ(there.output(drawn), here.output(expected)) << i;
  }
}

// The host has to tell more than 64, so of those it is asked for as many as the device was: bits and ranks.
TEST_F(cuda_executor, log_probabilities_are_the_hosts_of_the_same_logits) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  sampling_params random;
  random.temperature = 1.2F;
  random.seed = 5;
  sampling_params changed = random;  // of the logits as they were before
  changed.repetition_penalty = 1.4F;
  changed.logit_bias = {{11, 3.0F}, {12, -100.0F}};
  changed.min_tokens = 3;
  for (const sampling_params& kind : {test::greedy(), random, changed}) {
    const auto told = [&](std::int32_t top) {
      executor_driver driver(*device);
      sampling_params params = kind;
      params.logprobs = top;
      const auto sequence = driver.add(prompt_of(9, *model, 6), params);
      driver.generate(sequence, 4);
      return driver[sequence].logprobs;
    };
    const auto by_host = told(100);
    for (const std::int32_t top : {0, 1, 20, 64}) {
      const auto by_device = told(top);
      ASSERT_EQ(by_device.size(), by_host.size());
      for (std::size_t i = 0; i < by_host.size(); ++i) {
        EXPECT_EQ(by_device[i].token, by_host[i].token) << top;
        EXPECT_EQ(by_device[i].logprob, by_host[i].logprob) << top;
        EXPECT_EQ(by_device[i].rank, by_host[i].rank) << top;
        ASSERT_EQ(by_device[i].top.size(), static_cast<std::size_t>(top));
        EXPECT_TRUE(std::equal(by_device[i].top.begin(), by_device[i].top.end(), by_host[i].top.begin()));
      }
    }
  }
}

// Rows of a step that are told by either, by more than the logits that are computed at once, and with masks.
TEST_F(cuda_executor, a_step_tells_each_row_what_it_is_asked_for) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  executor_driver driver(*device);
  std::vector<sampling_params> kinds(4, test::greedy());
  kinds[0].logprobs = 3;
  kinds[1].logprobs = 100;
  kinds[2].logprobs = 2;
  kinds[2].logit_bias = {{7, 100.0F}};
  std::vector<test::chunk> rows;
  for (std::uint32_t i = 0; i < 4; ++i)
    rows.push_back({driver.add(prompt_of(6, *model, 20 + i), kinds[i]), 6});
  device_batch batch = driver.build(rows);
  for (std::int32_t row = 0; row < 5; ++row)
    batch.prompt_logprobs.push_back(
        {0, row, batch.tokens[static_cast<std::size_t>(row) + 1], row == 4 ? 90 : row});
  step_masks masks;
  masks.num_words = (static_cast<std::size_t>(model->config.vocab_size) + 31) / 32;
  masks.words.assign(4 * masks.num_words, ~0U);
  masks.is_masked = {1, 0, 0, 0};
  allow_only(masks.row(0), 42);
  step_result found;
  device->forward(batch);
  device->sample(batch, &masks, found);
  ASSERT_TRUE(found.tokens[0].logprobs);
  EXPECT_EQ(found.tokens[0].token, 42);
  EXPECT_EQ(found.tokens[0].logprobs->logprob, 0.0F) << "the only one that is allowed";
  EXPECT_EQ(found.tokens[0].logprobs->rank, 1);
  EXPECT_EQ(found.tokens[0].logprobs->top.size(), 3U);
  EXPECT_EQ(found.tokens[1].logprobs->top.size(), 100U);
  EXPECT_EQ(found.tokens[2].token, 7);
  EXPECT_GT(found.tokens[2].logprobs->rank, 1) << "of the logits without the bias";
  EXPECT_FALSE(found.tokens[3].logprobs);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(found.prompt_logprobs[row].token, batch.tokens[row + 1]);
    EXPECT_EQ(found.prompt_logprobs[row].top.size(), row == 4 ? 90U : row);
    EXPECT_LT(found.prompt_logprobs[row].logprob, 0.0F);
  }
}

TEST_F(cuda_executor, a_mask_leaves_what_it_allows) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  executor_driver driver(*device);
  driver.add(prompt_of(4, *model, 7), test::greedy());
  driver.add(prompt_of(4, *model, 8), test::greedy());
  const device_batch batch = driver.build({{0, 4}, {1, 4}});
  step_masks masks;
  masks.num_words = (static_cast<std::size_t>(model->config.vocab_size) + 31) / 32;
  masks.words.assign(2 * masks.num_words, ~0U);
  masks.is_masked = {0, 1};
  allow_only(masks.row(1), 42);
  step_result free;
  step_result masked;
  device->forward(batch);
  device->sample(batch, nullptr, free);
  device->sample(batch, &masks, masked);
  EXPECT_EQ(masked.tokens[0].token, free.tokens[0].token);
  EXPECT_EQ(masked.tokens[1].token, 42);
  step_masks first_tokens;
  first_tokens.num_words = 1;
  first_tokens.words = {~0U, ~0U};
  first_tokens.is_masked = {1, 1};
  device->sample(batch, &first_tokens, masked);
  for (const int row : {0, 1})
    EXPECT_LT(masked.tokens[static_cast<std::size_t>(row)].token, 32) << "it allows nothing behind its end";
}

TEST_F(cuda_executor, prompt_log_probabilities_and_copied_blocks_are_those_of_the_cpu) {
  const model_ptr model = load(test::tiny_kind::mistral);
  const auto device = start_cuda(model, small_cuda_options());
  const auto cpu = start_cpu(model);
  const auto run = [&](executor& on) {
    executor_driver driver(on);
    driver.add(prompt_of(16, *model, 9), test::greedy());
    device_batch first = driver.build({{0, 16}});
    for (std::int32_t row = 0; row < 15; ++row)
      first.prompt_logprobs.push_back({0, row, first.tokens[static_cast<std::size_t>(row) + 1], 0});
    step_result prompt;
    on.forward(first);
    on.sample(first, nullptr, prompt);
    // The same context, but from a copy of the block.
    device_batch second;
    second.tokens = {prompt.tokens[0].token};
    second.positions = {16};
    second.slots = {6 * 16};
    second.sequences = {{.id = 1, .first_row = 0, .num_rows = 1, .table_offset = 0, .table_length = 2}};
    second.block_tables = {5, 6};
    second.copies = {{0, 5}};
    second.prompt_logprobs = {{0, 0, 20, 5}};
    step_result copied;
    on.forward(second);
    on.sample(second, nullptr, copied);
    prompt.prompt_logprobs.push_back(copied.prompt_logprobs[0]);
    return prompt.prompt_logprobs;
  };
  const auto there = run(*device);
  const auto here = run(*cpu);
  ASSERT_EQ(there.size(), 16U);
  for (std::size_t i = 0; i < there.size(); ++i)
    EXPECT_NEAR(there[i].logprob, here[i].logprob, 0.05F + 0.01F * std::abs(here[i].logprob)) << i;
}

TEST_F(cuda_executor, eight_bit_kv_memory_gives_nearly_the_same_probabilities) {
  const model_ptr model = load(test::tiny_kind::qwen2);
  const auto first_logprobs = [&](const std::string& dtype) {
    cuda_executor_options options = small_cuda_options();
    options.kv_cache_dtype = dtype;
    const auto device = start_cuda(model, options);
    EXPECT_EQ(device->layout().dtype, dtype == "auto" ? "bf16" : dtype);
    executor_driver driver(*device);
    const auto sequence = driver.add(prompt_of(20, *model, 10), greedy_with_all_logprobs(model));
    driver.generate(sequence, 1);
    std::vector<float> by_token(static_cast<std::size_t>(model->config.vocab_size));
    for (const auto& [token, logprob] : driver[sequence].logprobs[0].top)
      by_token[static_cast<std::size_t>(token)] = logprob;
    return by_token;
  };
  const std::vector<float> exact = first_logprobs("auto");
  for (const char* dtype : {"fp8", "int8"}) {
    const std::vector<float> near = first_logprobs(dtype);
    EXPECT_NE(near, exact) << dtype;
    float apart = 0.0F;
    for (std::size_t i = 0; i < exact.size(); ++i) apart += std::abs(near[i] - exact[i]);
    EXPECT_LT(apart / static_cast<float>(exact.size()), 0.3F) << dtype;
  }
}

TEST_F(cuda_executor, a_step_that_fails_on_the_device_is_a_lost_device) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto before = kernels::cuda::emulation::faults();
  {
    const auto device = start_cuda(model, small_cuda_options());
    executor_driver driver(*device);
    const auto sequence = driver.add(prompt_of(4, *model, 11), test::greedy());
    kernels::cuda::emulation::faults().error = cudaErrorIllegalAddress;
    kernels::cuda::emulation::faults().failing_call = 3;
    EXPECT_THROW(driver.generate(sequence, 2), device_lost);
    EXPECT_THROW(device->synchronize(), device_lost);
  }
  kernels::cuda::emulation::faults() = before;
  cudaDeviceReset();
}

TEST_F(cuda_executor, memory_that_does_not_suffice_shrinks_the_pool_or_is_refused) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto before = kernels::cuda::emulation::faults();
  std::vector<std::string> warnings;
  cuda_executor_options options = small_cuda_options();
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  options.limits.kv_cache_bytes = 512U << 20U;  // more than there is
  kernels::cuda::emulation::faults().device_bytes = 64U << 20U;
  {
    const auto device = start_cuda(model, options);
    EXPECT_GT(device->layout().num_blocks, 16);
    EXPECT_LT(device->layout().num_blocks * device->layout().bytes_per_block, 64U << 20U);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("no room"), std::string::npos);
  }
  options.limits.max_rows = 1 << 17;
  const auto refused = load_cuda_executor(model, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::resource_exhausted);
  EXPECT_EQ(refused.error().param, "max_num_batched_tokens");
  kernels::cuda::emulation::faults().device_bytes = 1U << 17U;
  EXPECT_EQ(load_cuda_executor(model, small_cuda_options()).error().code, error_code::resource_exhausted);
  kernels::cuda::emulation::faults() = before;
}

TEST_F(cuda_executor, the_kv_pool_is_what_the_share_of_the_memory_leaves) {
  const model_ptr model = load(test::tiny_kind::llama);
  cuda_executor_options options = small_cuda_options();
  options.memory_utilization = 0.25;
  const auto device = start_cuda(model, options);
  test::capture_graphs(*device);
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const auto used = static_cast<double>(total - free);
  const auto share = 0.25 * static_cast<double>(total);
  EXPECT_LE(used, share + 4096);
  EXPECT_GE(used, share - 2.0 * static_cast<double>(device->layout().bytes_per_block));
}

// However much the pool is to have: a decode that runs eagerly is slower than one that waits for a block.
TEST_F(cuda_executor, the_kv_pool_leaves_room_for_the_graphs) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().device_bytes = 64U << 20U;
  std::vector<std::string> warnings;
  cuda_executor_options options = small_cuda_options();
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  options.limits.kv_cache_bytes = 512U << 20U;
  const auto with_share = [&](double share) {
    options.memory_utilization = share;
    auto made = load_cuda_executor(model, options);
    EXPECT_GT((*made)->profile()->graphs, 0U);
    EXPECT_TRUE((*made)->take_kv_cache({}));
    return std::move(*made);
  };
  for (const double share : {0.0, 1.0}) {
    const auto device = with_share(share);
    test::capture_graphs(*device);
    for (const std::string& each : warnings) EXPECT_EQ(each.find("eagerly"), std::string::npos) << each;
    EXPECT_LT(ask_device_memory().free, 8U << 20U) << "there is a pool that takes what there is";
  }
  kernels::cuda::emulation::faults() = before;
}

TEST_F(cuda_executor, a_kv_pool_that_is_bounded_is_no_larger_than_it_would_be) {
  const auto made = load_cuda_executor(load(test::tiny_kind::llama), small_cuda_options());
  ASSERT_TRUE(made.has_value());
  executor& device = **made;
  ASSERT_TRUE(device.profile().has_value());
  ASSERT_TRUE(device.take_kv_cache({}).has_value());
  const std::int32_t blocks = device.layout().num_blocks;
  ASSERT_GT(blocks, 4);
  ASSERT_TRUE(device.take_kv_cache({.most_blocks = blocks - 3}).has_value());
  EXPECT_EQ(device.layout().num_blocks, blocks - 3);
  ASSERT_TRUE(device.take_kv_cache({.most_blocks = blocks + 1000}).has_value());
  EXPECT_EQ(device.layout().num_blocks, blocks);
}

// A driver loads a kernel when it is launched for the first time, and takes memory for that: of those that no
// warm-up runs none is left for the time when the KV cache has taken it.
TEST_F(cuda_executor, the_start_launches_what_no_warm_up_does) {
  const auto before = kernels::cuda::emulation::faults();
  std::set<std::string> launched;
  kernels::cuda::emulation::faults().on_launch = [&](std::string_view kernel) { launched.emplace(kernel); };
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  const std::set<std::string> by_the_start = std::exchange(launched, {});
  executor_limits limits = small_cuda_options().limits;
  limits.max_model_len = model->config.context_length;
  device_batch batch = profiling_batch(device->layout(), limits, model->config.vocab_size);
  batch.copies = {{0, 1}};
  for (sample_row& sample : batch.samples) {
    auto told = std::make_shared<sampling_params>(*sample.sampling);
    told->logprobs = 4;
    sample.sampling = told;
  }
  device->forward(batch);
  step_result result;
  device->sample(batch, nullptr, result);
  EXPECT_GT(launched.size(), 8U);
  for (const std::string& each : launched) EXPECT_TRUE(by_the_start.contains(each)) << each;
  kernels::cuda::emulation::faults() = before;
}

TEST_F(cuda_executor, the_figures_are_of_the_devices_memory_and_what_has_been_captured) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start_cuda(model, small_cuda_options());
  const auto before = device->figures();
  ASSERT_TRUE(before);
  EXPECT_EQ(before->bus_id, "0000:65:00.0");
  EXPECT_EQ(before->graphs, 0);
  EXPECT_GT(before->memory_free, 0U);
  EXPECT_GT(before->memory_total - before->memory_free,
            static_cast<std::uint64_t>(device->layout().num_blocks) * device->layout().bytes_per_block);
  executor_driver driver(*device);
  driver.generate(driver.add(prompt_of(4, *model, 12), test::greedy()), 3);
  EXPECT_EQ(device->figures()->graphs, 1) << "of a single row";
  EXPECT_EQ(device->figures()->eager_steps, 1U);
  EXPECT_EQ(device->figures()->eager_decodes, 0U);
}

TEST_F(cuda_executor, decodes_beyond_every_graph_are_counted_and_told) {
  const model_ptr model = load(test::tiny_kind::llama);
  cuda_executor_options options = small_cuda_options();
  options.graph_rows = {1};
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto device = start_cuda(model, options);
  executor_driver driver(*device);
  const auto one = driver.add(prompt_of(4, *model, 12), test::greedy());
  const auto other = driver.add(prompt_of(5, *model, 13), test::greedy());
  driver.generate(one, 1);
  driver.generate(other, 1);
  for (int step = 0; step < 3; ++step) driver.step({{one, 1}, {other, 1}});
  EXPECT_EQ(device->figures()->eager_steps, 5U) << "two of prompts";
  EXPECT_EQ(device->figures()->eager_decodes, 3U);
  EXPECT_EQ(warnings.size(), 2U) << "the first and the second";
  EXPECT_NE(warnings.at(0).find("a decode of 2 sequences"), std::string::npos) << warnings[0];
}

TEST_F(cuda_executor, what_there_is_no_kernel_for_is_refused_by_name) {
  const model_ptr model = load(test::tiny_kind::llama);
  cuda_executor_options options = small_cuda_options();
  options.dtype = "float32";
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "dtype");
  options = small_cuda_options();
  options.kv_cache_dtype = "f32";
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "kv_cache_dtype");
  options = small_cuda_options();
  options.limits.block_size = 4;
  EXPECT_EQ(load_cuda_executor(model, options).error().code, error_code::unsupported);
  options = small_cuda_options();
  options.device_id = 7;
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "device_id");

  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().shared_bytes = 32U << 10U;
  EXPECT_EQ(load_cuda_executor(model, small_cuda_options()).error().param, "device");
  kernels::cuda::emulation::faults() = before;
}

}  // namespace
}  // namespace troupe
