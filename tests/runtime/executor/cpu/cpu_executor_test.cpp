#include "runtime/executor/cpu/cpu_executor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "kernels/dispatch.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/reference_model.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::chunk;
using test::executor_driver;

cpu_executor_options options(std::int32_t threads = 1, std::int32_t block_size = 16,
                             std::string path = "auto", std::string dtype = "auto") {
  cpu_executor_options made;
  made.limits = {.max_rows = 600,
                 .max_sequences = 48,
                 .max_model_len = 0,
                 .block_size = block_size,
                 .kv_cache_bytes = 24U << 20};
  made.threads = threads;
  made.kernel_path = std::move(path);
  made.kv_cache_dtype = std::move(dtype);
  return made;
}

std::unique_ptr<executor> make(const model_ptr& model, const cpu_executor_options& with) {
  auto made = make_cpu_executor(model, with);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return std::move(*made);
}

std::vector<token_id> random_prompt(std::size_t length, std::int32_t vocab, std::mt19937& random) {
  std::vector<token_id> prompt(length);
  for (token_id& token : prompt) token = static_cast<token_id>(random() % static_cast<unsigned>(vocab));
  return prompt;
}

// Log-probabilities of the whole vocabulary with every token, so that a comparison sees every logit.
sampling_params with_all_logprobs(const model_ptr& model) {
  sampling_params params = test::greedy();
  params.logprobs = model->config.vocab_size;
  return params;
}

std::vector<float> flatten(const test::driver_sequence& sequence) {
  std::vector<float> all;
  for (const token_logprobs& entry : sequence.logprobs) {
    for (const auto& [token, logprob] : entry.top) {
      all.push_back(static_cast<float>(token));
      all.push_back(logprob);
    }
  }
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(cpu_executor, every_kernel_path_gives_the_same_bits) {
  using gguf::tensor_type;
  for (const auto type :
       {tensor_type::q4_1, tensor_type::q8_0, tensor_type::q5_1, tensor_type::q6_k, tensor_type::f16}) {
    const auto model = test::load_from_memory(
        test::tiny_model({.kind = test::tiny_kind::qwen3, .weights = type, .embedding = type}));
    for (const char* dtype : {"f16", "int8"}) {
      std::vector<float> expected;
      for (const kernels::kernel_table* table : kernels::available_kernels()) {
        std::mt19937 random(5);
        const auto device = make(model, options(1, 16, table->name, dtype));
        EXPECT_EQ(device->kernel_path(), table->name);
        executor_driver driver(*device);
        const auto sequence =
            driver.add(random_prompt(40, model->config.vocab_size, random), with_all_logprobs(model));
        driver.generate(sequence, 4);
        if (expected.empty()) expected = flatten(driver[sequence]);
        EXPECT_TRUE(same_bits(flatten(driver[sequence]), expected))
            << table->name << " " << to_string(type) << " " << dtype;
      }
    }
  }
}

// Long enough that products are cut along their rows too.
TEST(cpu_executor, every_plan_gives_the_same_bits_of_a_long_prompt_on_every_kernel_path) {
  const auto model =
      test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q4_1, .context_length = 1024}));
  std::mt19937 random(6);
  const auto prompt = random_prompt(330, model->config.vocab_size, random);
  std::vector<float> expected;
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t threads : {1, 2, 3}) {
      const auto device = make(model, options(threads, 16, table->name, "f16"));
      for (const step_plan& plan : step_plans::candidates()) {
        const step_plan_trial trial(*device->plans(), plan);
        executor_driver driver(*device);
        const auto sequence = driver.add(prompt, with_all_logprobs(model));
        driver.step({{sequence, 330}});
        if (expected.empty()) expected = flatten(driver[sequence]);
        ASSERT_FALSE(expected.empty());
        EXPECT_TRUE(same_bits(flatten(driver[sequence]), expected))
            << table->name << ", " << threads << " threads, " << to_string(plan);
      }
    }
  }
}

TEST(cpu_executor, heads_whose_size_its_kernels_do_not_have_are_refused_by_name) {
  const auto model = test::load_from_memory(test::tiny_model({.head_dim = 24, .hidden = 96}));
  const auto refused = make_cpu_executor(model, options(1, 16, "auto", "f16"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::unsupported);
  EXPECT_EQ(refused.error().param, "attention.key_length");
  EXPECT_NE(refused.error().message.find("24"), std::string::npos) << refused.error().message;
}

TEST(cpu_executor, says_how_it_stores_keys_and_values_and_what_a_block_takes) {
  const auto model = test::load_from_memory(test::tiny_model());
  const model_config& config = model->config;
  const auto heads = static_cast<std::size_t>(config.num_layers * config.num_kv_heads);
  const auto dim = static_cast<std::size_t>(config.head_dim);
  const kv_layout halves = make(model, options())->layout();
  EXPECT_EQ(halves.dtype, "f16");
  EXPECT_EQ(halves.bytes_per_block, heads * 16 * dim * 2 * 2);
  const kv_layout codes = make(model, options(1, 16, "auto", "int8"))->layout();
  EXPECT_EQ(codes.dtype, "int8");
  EXPECT_EQ(codes.bytes_per_block, heads * 16 * (dim + 4) * 2);  // a scale of four bytes per head and token
  EXPECT_EQ(make_cpu_executor(model, options(1, 16, "auto", "fp8")).error().code,
            error_code::invalid_argument);
}

// One request alone, whole prompt at once, one thread: what its company must not change.
std::vector<float> alone(const model_ptr& model, const std::vector<token_id>& prompt, std::int32_t count,
                         const char* dtype = "auto") {
  const auto device = make(model, options(1, 16, "auto", dtype));
  executor_driver driver(*device);
  const auto sequence = driver.add(prompt, with_all_logprobs(model));
  driver.generate(sequence, count);
  return flatten(driver[sequence]);
}

// Runs all prompts in random chunks and random company until each has `count` tokens.
void run_crowd(executor_driver& driver, const std::vector<std::size_t>& sequences, std::int32_t count,
               std::mt19937& random) {
  for (bool more = true; more;) {
    std::vector<chunk> chunks;
    more = false;
    std::int32_t room = 256;
    for (const std::size_t sequence : sequences) {
      const auto known = static_cast<std::int32_t>(driver[sequence].tokens.size());
      if (known - driver[sequence].prompt_length >= count) continue;
      more = true;
      if (random() % 4 == 0) continue;
      const std::int32_t left = known - driver[sequence].computed;
      const std::int32_t rows =
          std::min(room, 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(left)));
      if (rows > 0) chunks.push_back({sequence, rows});
      room -= rows;
    }
    std::shuffle(chunks.begin(), chunks.end(), random);
    if (!chunks.empty()) driver.step(chunks);
  }
}

struct law_case {
  const char* name;
  test::tiny_kind kind;
  gguf::tensor_type type;
  std::int32_t threads;
  std::int32_t block_size;
  const char* dtype = "f16";
};

class company : public testing::TestWithParam<law_case> {};

TEST_P(company, never_changes_a_requests_bits) {
  const law_case& with = GetParam();
  const auto model = test::load_from_memory(test::tiny_model(
      {.kind = with.kind, .weights = with.type, .embedding = with.type, .context_length = 1024}));
  const auto device = make(model, options(with.threads, with.block_size, "auto", with.dtype));
  std::mt19937 random(17);
  std::vector<std::int32_t> order(static_cast<std::size_t>(device->layout().num_blocks));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  executor_driver driver(*device, order);
  std::vector<std::vector<token_id>> prompts;
  std::vector<std::size_t> sequences;
  for (const std::size_t length : {1, 5, 16, 17, 40, 255, 256, 300, 530}) {
    prompts.push_back(random_prompt(length, model->config.vocab_size, random));
    sequences.push_back(driver.add(prompts.back(), with_all_logprobs(model)));
  }
  run_crowd(driver, sequences, 5, random);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_TRUE(same_bits(flatten(driver[sequences[i]]), alone(model, prompts[i], 5, with.dtype)))
        << prompts[i].size();
  }
}

INSTANTIATE_TEST_SUITE_P(
    law, company,
    testing::Values(
        law_case{"q4_1_two_threads", test::tiny_kind::llama, gguf::tensor_type::q4_1, 2, 16},
        law_case{"q4_1_three_threads", test::tiny_kind::llama, gguf::tensor_type::q4_1, 3, 32},
        law_case{"q8_0_one_thread", test::tiny_kind::qwen2, gguf::tensor_type::q8_0, 1, 64},
        law_case{"q6_k_three_threads", test::tiny_kind::llama_untied, gguf::tensor_type::q6_k, 3, 16},
        law_case{"q5_1_two_threads", test::tiny_kind::qwen3, gguf::tensor_type::q5_1, 2, 48},
        law_case{"f16_two_threads", test::tiny_kind::mistral, gguf::tensor_type::f16, 2, 16},
        law_case{"int8_kv_two_threads", test::tiny_kind::llama, gguf::tensor_type::q4_1, 2, 32, "int8"},
        law_case{"blocks_of_1", test::tiny_kind::qwen2, gguf::tensor_type::q8_0, 2, 1},
        law_case{"blocks_of_4_int8_kv", test::tiny_kind::llama, gguf::tensor_type::q4_1, 3, 4, "int8"},
        law_case{"int8_kv_three_threads", test::tiny_kind::qwen3, gguf::tensor_type::q8_0, 3, 16, "int8"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(cpu_executor, a_preempted_sequence_recomputes_the_same_bits_in_other_blocks) {
  std::mt19937 random(23);
  const auto model = test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q4_0}));
  const auto prompt = random_prompt(70, model->config.vocab_size, random);
  const auto device = make(model, options(2));
  executor_driver driver(*device);
  const auto noise = driver.add(random_prompt(90, model->config.vocab_size, random), test::greedy());
  driver.generate(noise, 3);
  const auto sequence = driver.add(prompt, with_all_logprobs(model));
  driver.generate(sequence, 3);
  driver.release(noise);
  driver.release(sequence);
  driver.generate(sequence, 3);
  EXPECT_TRUE(same_bits(flatten(driver[sequence]), alone(model, prompt, 6)));
}

TEST(cpu_executor, the_real_models_tokens_are_the_same_alone_and_in_a_crowd_for_any_thread_count) {
  const auto model = load_model(test::default_model_path());
  ASSERT_TRUE(model.has_value()) << model.error().message;
  std::mt19937 random(29);
  std::vector<std::vector<token_id>> prompts;
  for (const std::size_t length : {3, 20, 33, 64, 90})
    prompts.push_back(random_prompt(length, 49152, random));
  sampling_params seeded;
  seeded.temperature = 0.9F;
  seeded.seed = 1234;
  seeded.logprobs = 20;
  std::vector<std::vector<token_id>> tokens;
  std::vector<std::vector<float>> logprobs;
  {
    const auto device = make(*model, options(1));
    for (const auto& prompt : prompts) {
      executor_driver driver(*device);
      const auto sequence = driver.add(prompt, seeded);
      driver.generate(sequence, 4);
      tokens.push_back(driver.output(sequence));
      logprobs.push_back(flatten(driver[sequence]));
    }
  }
  for (const std::int32_t threads : {2, 3}) {
    const auto device = make(*model, options(threads));
    executor_driver driver(*device);
    std::vector<std::size_t> sequences;
    for (const auto& prompt : prompts) sequences.push_back(driver.add(prompt, seeded));
    run_crowd(driver, sequences, 4, random);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(driver.output(sequences[i]), tokens[i]) << threads;
      EXPECT_TRUE(same_bits(flatten(driver[sequences[i]]), logprobs[i])) << threads;
    }
  }
}

TEST(cpu_executor, prompt_log_probabilities_come_in_order_beyond_one_chunk_of_the_head) {
  std::mt19937 random(31);
  const auto model = test::load_from_memory(test::tiny_model());
  const auto device = make(model, options(2));
  executor_driver driver(*device);
  const auto prompt = random_prompt(100, model->config.vocab_size, random);
  const auto sequence = driver.add(prompt, test::greedy());
  device_batch batch = driver.build({{sequence, 100}});
  for (std::int32_t row = 0; row + 1 < 100; ++row) {
    batch.prompt_logprobs.push_back({0, row, prompt[static_cast<std::size_t>(row) + 1], 2});
  }
  step_result result;
  device->forward(batch);
  device->sample(batch, nullptr, result);
  ASSERT_EQ(result.prompt_logprobs.size(), 99U);
  ASSERT_EQ(result.tokens.size(), 1U);
  const auto logits = test::reference_logits(*model, prompt);
  for (std::size_t row = 0; row < 99; ++row) {
    double sum = 0;
    for (const float logit : logits[row]) sum += std::exp(static_cast<double>(logit));
    const token_id next = prompt[row + 1];
    EXPECT_EQ(result.prompt_logprobs[row].token, next);
    EXPECT_NEAR(result.prompt_logprobs[row].logprob,
                logits[row][static_cast<std::size_t>(next)] - std::log(sum), 0.02);
    EXPECT_EQ(result.prompt_logprobs[row].top.size(), 2U);
  }
}

TEST(cpu_executor, a_sequence_full_of_nan_harms_nobody_else) {
  const auto model = test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q8_0}));
  std::mt19937 random(37);
  const auto prompt = random_prompt(20, model->config.vocab_size, random);
  const auto device = make(model, options(2));
  executor_driver driver(*device);
  const auto sequence = driver.add(prompt, with_all_logprobs(model));
  sampling_params odd = test::greedy();
  odd.logit_bias = {{3, std::nanf("")}};
  const auto poisoned = driver.add(prompt, odd);
  driver.step({{poisoned, 20}, {sequence, 20}});
  EXPECT_TRUE(same_bits(flatten(driver[sequence]), alone(model, prompt, 1)));
}

TEST(cpu_executor, refuses_what_it_cannot_hold_or_run) {
  const auto model = test::load_from_memory(test::tiny_model());
  auto with = options();
  with.limits.kv_cache_bytes = 100;
  EXPECT_EQ(make_cpu_executor(model, with).error().code, error_code::resource_exhausted);
  with = options();
  with.limits.kv_cache_bytes = std::size_t{1} << 50U;
  EXPECT_EQ(make_cpu_executor(model, with).error().code, error_code::invalid_argument);
  EXPECT_EQ(make_cpu_executor(model, with).error().param, "kv_cache_memory");
  with = options();
  with.limits.block_size = 24;
  EXPECT_EQ(make_cpu_executor(model, with).error().code, error_code::invalid_argument);
  with = options();
  with.limits.max_rows = 0;
  EXPECT_EQ(make_cpu_executor(model, with).error().code, error_code::invalid_argument);
  EXPECT_EQ(make_cpu_executor(model, options(-1)).error().code, error_code::invalid_argument);
  EXPECT_EQ(make_cpu_executor(model, options(1, 16, "amx9")).error().code, error_code::unsupported);
}

TEST(cpu_executor, refuses_a_batch_outside_its_memory) {
  std::mt19937 random(41);
  const auto model = test::load_from_memory(test::tiny_model());
  const auto device = make(model, options());
  executor_driver driver(*device);
  const auto sequence = driver.add(random_prompt(20, model->config.vocab_size, random), test::greedy());
  const device_batch good = driver.build({{sequence, 20}});
  const auto refused = [&](auto&& damage) {
    device_batch batch = good;
    damage(batch);
    EXPECT_THROW(device->forward(batch), std::invalid_argument);
  };
  refused([&](device_batch& batch) { batch.tokens[3] = model->config.vocab_size; });
  refused([](device_batch& batch) { batch.tokens[3] = -1; });
  refused([](device_batch& batch) { batch.positions[19] = 1 << 30; });
  refused([](device_batch& batch) { batch.slots[0] = -2; });
  refused([&](device_batch& batch) { batch.block_tables[0] = device->layout().num_blocks + 1; });
  refused([](device_batch& batch) { batch.sequences[0].num_rows = 21; });
  refused([](device_batch& batch) { batch.sequences[0].table_length = 1; });
  refused([](device_batch& batch) { batch.samples[0].row = 20; });
  refused([](device_batch& batch) { batch.slots.pop_back(); });
  std::vector<std::int32_t> elsewhere;
  const auto refused_elsewhere = [&](auto&& damage) {
    refused([&](device_batch& batch) {
      elsewhere = std::exchange(batch.block_tables, {});
      batch.tables = {elsewhere.data()};
      damage(batch);
    });
  };
  refused_elsewhere([&](device_batch&) { elsewhere[0] = device->layout().num_blocks + 1; });
  refused_elsewhere([&](device_batch&) { elsewhere[1] = no_block; });
  refused_elsewhere([](device_batch& batch) { batch.tables[0] = nullptr; });
  refused_elsewhere([](device_batch& batch) { batch.tables.push_back(batch.tables[0]); });
  refused_elsewhere([](device_batch& batch) { batch.sequences[0].table_length = -1; });
  EXPECT_NO_THROW(device->forward(good));
}

}  // namespace
}  // namespace troupe
