// The start of the CPU executor: room for steps, the largest step run, the KV cache from what is left; and
// the plans it may run by.
#include <gtest/gtest.h>

#include <random>

#include "kernels/dispatch.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t mebibyte = 1U << 20U;

struct CpuStart : testing::Test {
  model_ptr model = test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q4_1}));
  std::uint64_t available = 512 * mebibyte;

  cpu_executor_options options() {
    cpu_executor_options made;
    made.limits = {.max_rows = 64, .max_sequences = 8, .kv_cache_bytes = 4 * mebibyte};
    made.threads = 2;
    made.available = [this]() -> result<std::uint64_t> { return available; };
    made.total = []() -> result<std::uint64_t> { return 1024 * mebibyte; };
    return made;
  }
  std::unique_ptr<executor> load() {
    auto made = load_cpu_executor(model, options());
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return std::move(*made);
  }
};

std::vector<token_id> some_tokens(executor& device, std::int32_t prompt) {
  test::executor_driver driver(device);
  std::vector<token_id> tokens;
  for (std::int32_t i = 0; i < prompt; ++i) tokens.push_back(i % 40);
  const auto sequence = driver.add(tokens, test::greedy());
  driver.generate(sequence, 6);
  auto out = driver.output(sequence);
  driver.release(sequence);
  return out;
}

TEST_F(CpuStart, AStepThatMemoryDoesNotHoldIsRefusedAndTheOthersRunOn) {
  const auto device = load();
  ASSERT_TRUE(device->reserve_steps(128, 16));
  const auto much = device->reserve_steps(1 << 19, 16);
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().code, error_code::resource_exhausted);
  for (const char* word : {"524288 rows", "512.0 MiB are free", "4.0 MiB of these kept for the KV cache"})
    EXPECT_NE(much.error().message.find(word), std::string::npos) << much.error().message;
  EXPECT_EQ(device->reserve_steps(1 << 21, 16).error().code, error_code::unsupported);
  ASSERT_TRUE(device->profile());
  ASSERT_TRUE(device->take_kv_cache({}));
  EXPECT_EQ(some_tokens(*device, 100).size(), 6U) << "128 rows were reserved";
}

TEST_F(CpuStart, LeavesTheKvCacheItsMemory) {
  const auto device = load();
  const auto enough = device->reserve_steps(4096, 16);
  EXPECT_TRUE(enough) << enough.error().message;
  available = 6 * mebibyte;
  EXPECT_FALSE(device->reserve_steps(16'384, 16)) << "4 of 6 MiB are the KV cache's";
}

TEST_F(CpuStart, StepsOfTheLimitsThatDoNotFitNameTheirOption) {
  available = 1 << 12;
  const auto made = load_cpu_executor(model, options());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::resource_exhausted);
  EXPECT_EQ(made.error().param, "max_num_batched_tokens");
}

TEST_F(CpuStart, MeasuresWhatTheLargestStepTakes) {
  const auto small = load();
  const auto few = small->profile();
  ASSERT_TRUE(few);
  const auto large = load();
  ASSERT_TRUE(large->reserve_steps(8192, 8));
  const auto many = large->profile();
  ASSERT_TRUE(many);
  EXPECT_GT(few->weights, 0U);
  EXPECT_EQ(few->weights, many->weights);
  EXPECT_GT(few->activations, 0U);
  EXPECT_GT(many->activations, few->activations + 8000U * 64U * sizeof(float));
  EXPECT_EQ(many->available, available);
}

TEST_F(CpuStart, SharesOutWhatIsLeftAfterTheLargestStep) {
  auto with = options();
  with.memory_utilization = 0.5;
  auto made = load_cpu_executor(model, with);
  ASSERT_TRUE(made);
  ASSERT_TRUE((*made)->profile());
  available = 64 * mebibyte;
  ASSERT_TRUE((*made)->take_kv_cache({}));
  const kv_layout layout = (*made)->layout();
  const auto bytes = static_cast<std::uint64_t>(layout.num_blocks) * layout.bytes_per_block;
  EXPECT_LE(bytes, 32 * mebibyte);
  EXPECT_GT(bytes + layout.bytes_per_block, 32 * mebibyte);
}

TEST_F(CpuStart, ACacheThatIsGrantedIsTakenWhateverOthersHoldNow) {
  const auto device = load();
  available = mebibyte;
  const auto refused = device->take_kv_cache({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::resource_exhausted) << "another time it fits";
  ASSERT_TRUE(device->take_kv_cache({.is_granted = true}));
  EXPECT_EQ(some_tokens(*device, 20).size(), 6U);
}

TEST_F(CpuStart, ACacheThatNeverFitsIsAWrongSetting) {
  const auto device = load();
  const std::size_t block = device->layout().bytes_per_block;
  const auto blocks = [&](std::uint64_t bytes) { return static_cast<std::int32_t>(bytes / block); };
  const auto asked = [&](std::uint64_t bytes) {
    return device->take_kv_cache({.num_blocks = blocks(bytes)}).error().code;
  };
  EXPECT_EQ(asked(600 * mebibyte), error_code::resource_exhausted);
  EXPECT_EQ(asked(1100 * mebibyte), error_code::invalid_argument);
}

TEST_F(CpuStart, LeavesAnotherModelsCacheItsPartOfTheShareAndTakesSoManyBlocksAsAreAskedFor) {
  auto with = options();
  with.memory_utilization = 0.5;
  auto made = load_cpu_executor(model, with);
  ASSERT_TRUE(made);
  available = 64 * mebibyte;
  const std::size_t block = (*made)->layout().bytes_per_block;
  ASSERT_GT(block, 0U) << "known before there is a cache";
  ASSERT_TRUE((*made)->take_kv_cache({.bytes_beside = 3 * block}));
  const auto blocks = static_cast<std::uint64_t>((*made)->layout().num_blocks);
  EXPECT_LE(blocks * 4 * block, 32 * mebibyte);
  EXPECT_GT((blocks + 1) * 4 * block, 32 * mebibyte);
  ASSERT_TRUE((*made)->take_kv_cache({.num_blocks = 7}));
  EXPECT_EQ((*made)->layout().num_blocks, 7);
  EXPECT_EQ((*made)->take_kv_cache({.num_blocks = 1 << 24}).error().param, "kv_cache_memory");

  const auto by_size = load();  // 4 MiB
  available = 6 * mebibyte;
  ASSERT_TRUE(by_size->take_kv_cache({.bytes_beside = block / 4}));
  const auto refused = by_size->take_kv_cache({.bytes_beside = block});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("4 MiB and the draft model's cache takes 4 MiB"), std::string::npos)
      << refused.error().message;
}

TEST_F(CpuStart, EveryPlanGivesTheSameBits) {
  for (const kernels::kernel_table* kernels : kernels::available_kernels()) {
    for (const std::int32_t threads : {1, 3}) {
      auto with = options();
      with.threads = threads;
      with.kernel_path = kernels->name;
      const auto made = make_cpu_executor(model, with);
      ASSERT_TRUE(made) << made.error().message;
      executor& device = **made;
      std::vector<step_plan> plans = step_plans::candidates();
      plans.push_back({1024});
      std::vector<std::vector<float>> all;
      for (const step_plan& plan : plans) {
        const step_plan_trial trial(*device.plans(), plan);
        test::executor_driver driver(device);
        sampling_params params = test::greedy();
        params.logprobs = model->config.vocab_size;
        std::vector<float> bits;
        std::vector<std::size_t> sequences;
        for (std::int32_t i = 0; i < 4; ++i) sequences.push_back(driver.add({1, 2, 3, i, 5, 6, 7}, params));
        driver.step({{sequences[0], 7}, {sequences[1], 3}});
        driver.step({{sequences[0], 1}, {sequences[1], 4}, {sequences[2], 7}, {sequences[3], 7}});
        for (int step = 0; step < 3; ++step)
          driver.step({{sequences[0], 1}, {sequences[1], 1}, {sequences[2], 1}, {sequences[3], 1}});
        for (const std::size_t each : sequences)
          for (const token_logprobs& entry : driver[each].logprobs)
            for (const auto& [token, logprob] : entry.top) {
              bits.push_back(static_cast<float>(token));
              bits.push_back(logprob);
            }
        all.push_back(std::move(bits));
      }
      ASSERT_FALSE(all.front().empty());
      for (const auto& each : all) EXPECT_EQ(each, all.front());
    }
  }
}

TEST_F(CpuStart, PlansAreOfTheModelAndTheKvCacheTheyWereMeasuredFor) {
  const auto shape = [&](const model_ptr& of, const std::string& kv) {
    auto with = options();
    with.kv_cache_dtype = kv;
    return (*make_cpu_executor(of, with))->plans()->shape();
  };
  EXPECT_EQ(shape(model, "f16"), shape(model, "auto"));
  EXPECT_NE(shape(model, "f16"), shape(model, "int8"));
  EXPECT_NE(shape(model, "f16"),
            shape(test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q8_0})), "f16"));
}

}  // namespace
}  // namespace troupe
