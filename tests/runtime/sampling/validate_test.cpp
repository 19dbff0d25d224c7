#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

constexpr auto least = std::numeric_limits<std::int32_t>::min();
constexpr auto greatest = std::numeric_limits<std::int32_t>::max();
constexpr sampling_limits limits{.vocab_size = 100, .max_logprobs = 20, .max_stop_strings = 16};

result<void> check(const std::function<void(sampling_params&)>& change) {
  sampling_params params;
  change(params);
  return validate(params, limits);
}

// The parameter at fault, or "accepted".
std::string param_of(const std::function<void(sampling_params&)>& change) {
  const auto checked = check(change);
  return checked ? "accepted" : checked.error().param;
}

struct float_case {
  const char* name;
  float sampling_params::*field;
  std::vector<float> good;
  std::vector<float> bad;
};

TEST(validate, holds_every_float_to_its_range) {
  const std::vector<float_case> cases = {
      {"temperature", &sampling_params::temperature, {0.0F, 1e-30F, 1.0F, 2.0F}, {-0.1F, 2.1F}},
      {"top_p", &sampling_params::top_p, {0.0F, 1e-9F, 0.5F, 1.0F}, {-1e-9F, -0.5F, 1.1F}},
      {"min_p", &sampling_params::min_p, {0.0F, 0.5F, 1.0F}, {-0.1F, 1.1F}},
      {"presence_penalty", &sampling_params::presence_penalty, {-2.0F, 0.0F, 2.0F}, {-2.1F, 2.1F}},
      {"frequency_penalty", &sampling_params::frequency_penalty, {-2.0F, 0.0F, 2.0F}, {-2.1F, 2.1F}},
      {"repetition_penalty",
       &sampling_params::repetition_penalty,
       {1e-3F, 1.0F, 10.0F},
       {0.0F, -1.0F, 10.5F}},
  };
  for (const float_case& c : cases) {
    for (const float value : c.good) {
      EXPECT_TRUE(check([&](auto& params) { params.*c.field = value; })) << c.name << " " << value;
    }
    auto bad = c.bad;
    bad.insert(bad.end(), {nan, -nan, infinity, -infinity, 3.4e38F, -3.4e38F});
    for (const float value : bad) {
      const auto checked = check([&](auto& params) { params.*c.field = value; });
      ASSERT_FALSE(checked) << c.name << " " << value;
      EXPECT_EQ(checked.error().code, error_code::invalid_argument);
      EXPECT_EQ(checked.error().param, c.name);
    }
  }
}

TEST(validate, says_what_is_allowed_and_what_it_got) {
  EXPECT_EQ(check([](auto& params) { params.temperature = -1.0F; }).error().message,
            "temperature must be between 0 and 2, got -1");
  EXPECT_EQ(check([](auto& params) { params.top_p = nan; }).error().message,
            "top_p must be between 0 and 1, got nan");
  EXPECT_EQ(check([](auto& params) { params.repetition_penalty = 0; }).error().message,
            "repetition_penalty must be greater than 0 and at most 10, got 0");
  EXPECT_EQ(check([](auto& params) { params.max_tokens = 0; }).error().message,
            "max_tokens must be at least 1, got 0");
  const auto renamed = check([](auto& params) {
    params.max_tokens = 0;
    params.max_tokens_field = "max_completion_tokens";
  });
  EXPECT_EQ(renamed.error().message, "max_completion_tokens must be at least 1, got 0");
  EXPECT_EQ(renamed.error().param, "max_completion_tokens");
}

TEST(validate, holds_every_integer_to_its_range) {
  EXPECT_EQ(param_of([](auto& p) { p.max_tokens = greatest; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.max_tokens = 1; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.max_tokens = 0; }), "max_tokens");
  EXPECT_EQ(param_of([](auto& p) { p.max_tokens = least; }), "max_tokens");
  EXPECT_EQ(param_of([](auto& p) { p.min_tokens = greatest; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.min_tokens = -1; }), "min_tokens");
  EXPECT_EQ(param_of([](auto& p) { p.min_tokens = 3, p.max_tokens = 3; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.min_tokens = 4, p.max_tokens = 3; }), "min_tokens");
  EXPECT_EQ(param_of([](auto& p) { p.top_k = -1; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.top_k = greatest; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.top_k = -2; }), "top_k");
  EXPECT_EQ(param_of([](auto& p) { p.top_k = least; }), "top_k");
  EXPECT_EQ(param_of([](auto& p) { p.logprobs = 0, p.prompt_logprobs = 20; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.logprobs = 21; }), "logprobs");
  EXPECT_EQ(param_of([](auto& p) { p.logprobs = -1; }), "logprobs");
  EXPECT_EQ(param_of([](auto& p) { p.prompt_logprobs = 21; }), "prompt_logprobs");
  EXPECT_EQ(param_of([](auto& p) { p.prompt_logprobs = least; }), "prompt_logprobs");
}

TEST(validate, holds_lists_to_their_length_and_their_entries_to_the_vocabulary) {
  EXPECT_EQ(param_of([](auto& p) { p.stop.assign(16, "x"); }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.stop.assign(17, "x"); }), "stop");
  EXPECT_EQ(param_of([](auto& p) { p.stop = {"a", ""}; }), "stop");
  EXPECT_EQ(param_of([](auto& p) { p.stop_token_ids = {0, 99}; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.stop_token_ids = {100}; }), "stop_token_ids");
  EXPECT_EQ(param_of([](auto& p) { p.stop_token_ids = {-1}; }), "stop_token_ids");
  EXPECT_EQ(param_of([](auto& p) { p.stop_token_ids.assign(101, 1); }), "stop_token_ids");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{0, -100.0F}, {99, 100.0F}}; }), "accepted");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{100, 1.0F}}; }), "logit_bias");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{-1, 1.0F}}; }), "logit_bias");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{1, 100.5F}}; }), "logit_bias");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{1, nan}}; }), "logit_bias");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias = {{1, -infinity}}; }), "logit_bias");
  EXPECT_EQ(param_of([](auto& p) { p.logit_bias.assign(101, {1, 1.0F}); }), "logit_bias");
}

}  // namespace
}  // namespace troupe
