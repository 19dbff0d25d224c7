// Perplexity of a text that every Debian machine has, by the rule in tests/data/smollm2_perplexity.json.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

// Sum of the negative log-probabilities of all tokens of a window but the first.
double window_nll(executor& device, const std::vector<token_id>& window) {
  test::executor_driver driver(device);
  const auto sequence = driver.add(window, test::greedy());
  device_batch batch = driver.build({{sequence, static_cast<std::int32_t>(window.size())}});
  for (std::size_t i = 0; i + 1 < window.size(); ++i) {
    batch.prompt_logprobs.push_back({0, static_cast<std::int32_t>(i), window[i + 1], 0});
  }
  step_result result;
  device.forward(batch);
  device.sample(batch, nullptr, result);
  double sum = 0;
  for (const token_logprobs& entry : result.prompt_logprobs) sum -= entry.logprob;
  return sum;
}

class perplexity : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(kv_cache_dtype, perplexity, testing::Values("f16", "int8"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(perplexity, is_within_half_a_percent_of_the_fp32_reference) {
  std::ifstream rule_file(test::source_path("tests/data/smollm2_perplexity.json"));
  const auto rule = nlohmann::json::parse(rule_file);
  std::ifstream text_file("/usr/share/common-licenses/GPL-3");
  ASSERT_TRUE(text_file) << "Debian's text of the GPL-3 is missing";
  const std::string text{std::istreambuf_iterator<char>(text_file), {}};
  const auto model = load_model(test::default_model_path());
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const auto tokenizer = load_tokenizer((*model)->file);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const auto ids = (*tokenizer)->encode(text, {.add_special_tokens = false, .parse_special = false});
  ASSERT_EQ(ids.size(), rule["tokens"].get<std::size_t>());

  const auto width = rule["window"].get<std::ptrdiff_t>();
  cpu_executor_options options;
  options.limits = {.max_rows = static_cast<std::int32_t>(width),
                    .max_sequences = 1,
                    .max_model_len = static_cast<std::int32_t>(width),
                    .kv_cache_bytes = 64U << 20};
  options.kv_cache_dtype = GetParam();
  auto device = make_cpu_executor(*model, options);
  ASSERT_TRUE(device.has_value()) << device.error().message;
  double nll = 0;
  std::ptrdiff_t windows = 0;
  for (; (windows + 1) * width <= static_cast<std::ptrdiff_t>(ids.size()); ++windows) {
    nll += window_nll(**device, {ids.begin() + windows * width, ids.begin() + (windows + 1) * width});
  }
  EXPECT_EQ(windows, rule["windows"].get<std::ptrdiff_t>());
  const double measured = std::exp(nll / static_cast<double>(windows * (width - 1)));
  const auto reference = rule["perplexity"].get<double>();
  RecordProperty("perplexity", std::to_string(measured));
  EXPECT_NEAR(measured, reference, 0.005 * reference);
}

}  // namespace
}  // namespace troupe
