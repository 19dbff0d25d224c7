// The default model against fp32 values computed elsewhere (tests/data/smollm2_logits.jsonl: transformers in
// fp32 on the file's own dequantised weights).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/json/json.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

class golden : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    const auto model = load_model(test::default_model_path());
    ASSERT_TRUE(model.has_value()) << model.error().message;
    for (const char* dtype : {"f16", "int8"}) {
      cpu_executor_options options;
      options.limits = {
          .max_rows = 1024, .max_sequences = 8, .max_model_len = 2048, .kv_cache_bytes = 64U << 20};
      options.kv_cache_dtype = dtype;
      auto made = make_cpu_executor(*model, options);
      ASSERT_TRUE(made.has_value()) << made.error().message;
      devices_[dtype] = std::move(*made);
    }
    std::ifstream file(test::source_path("tests/data/smollm2_logits.jsonl"));
    for (std::string line; std::getline(file, line);) cases_.push_back(json::parse(line));
    ASSERT_EQ(cases_.size(), 10U);
  }
  static void TearDownTestSuite() { devices_.clear(); }

  executor& device() { return *devices_[GetParam()]; }

  static std::map<std::string, std::unique_ptr<executor>> devices_;
  static std::vector<json> cases_;
};

std::map<std::string, std::unique_ptr<executor>> golden::devices_;
std::vector<json> golden::cases_;

INSTANTIATE_TEST_SUITE_P(kv_cache_dtype, golden, testing::Values("f16", "int8"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(golden, greedy_follows_the_reference_up_to_the_first_small_margin) {
  for (const json& expected : cases_) {
    test::executor_driver driver(device());
    const auto sequence = driver.add(expected["token_ids"], test::greedy());
    const auto ids = expected["greedy_ids"].get<std::vector<token_id>>();
    const auto margins = expected["greedy_margin"].get<std::vector<double>>();
    driver.generate(sequence, static_cast<std::int32_t>(ids.size()));
    const std::vector<token_id> output = driver.output(sequence);
    for (std::size_t i = 0; i < ids.size() && margins[i] >= 0.5; ++i) {
      EXPECT_EQ(output[i], ids[i]) << expected["prompt"] << " at token " << i;
    }
  }
}

TEST_P(golden, top_three_log_probabilities_are_close_to_the_reference) {
  double distance = 0;
  int count = 0;
  for (const json& expected : cases_) {
    test::executor_driver driver(device());
    const auto tokens = expected["token_ids"].get<std::vector<token_id>>();
    const auto sequence = driver.add(tokens, test::greedy());
    device_batch batch = driver.build({{sequence, static_cast<std::int32_t>(tokens.size())}});
    for (int i = 0; i < 3; ++i)
      batch.prompt_logprobs.push_back({0, batch.num_rows() - 1, expected["top_ids"][i], 0});
    step_result result;
    device().forward(batch);
    device().sample(batch, nullptr, result);
    for (int i = 0; i < 3; ++i) {
      const double reference = expected["top_logits"][i].get<double>() - expected["logsumexp"].get<double>();
      distance += std::abs(result.prompt_logprobs[static_cast<std::size_t>(i)].logprob - reference);
      ++count;
    }
  }
  RecordProperty("mean_distance", std::to_string(distance / count));
  EXPECT_LE(distance / count, 0.12);
}

TEST_P(golden, mean_log_probability_of_the_prompts_is_close_to_the_reference) {
  double sum = 0;
  double reference = 0;
  double count = 0;
  for (const json& expected : cases_) {
    test::executor_driver driver(device());
    const auto tokens = expected["token_ids"].get<std::vector<token_id>>();
    const auto sequence = driver.add(tokens, test::greedy());
    device_batch batch = driver.build({{sequence, static_cast<std::int32_t>(tokens.size())}});
    for (std::int32_t i = 0; i + 1 < batch.num_rows(); ++i) {
      batch.prompt_logprobs.push_back({0, i, tokens[static_cast<std::size_t>(i) + 1], 0});
    }
    step_result result;
    device().forward(batch);
    device().sample(batch, nullptr, result);
    for (const token_logprobs& entry : result.prompt_logprobs) sum -= entry.logprob;
    const auto predicted = static_cast<double>(result.prompt_logprobs.size());
    reference += expected["mean_prompt_nll"].get<double>() * predicted;
    count += predicted;
  }
  EXPECT_NEAR(sum / count, reference / count, 0.03);
}

}  // namespace
}  // namespace troupe
