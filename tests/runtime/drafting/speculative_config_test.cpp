#include "runtime/drafting/speculative_config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

speculative_config read(std::string_view json) {
  const auto config = parse_speculative_config(json);
  EXPECT_TRUE(config) << json << ": " << (config ? "" : config.error().message);
  return config.value_or(speculative_config{});
}

std::string wrong_field(std::string_view json) {
  const auto config = parse_speculative_config(json);
  if (config) return "nothing";
  EXPECT_EQ(config.error().code, error_code::invalid_argument);
  return config.error().param;
}

TEST(speculative_config, has_defaults_for_everything) {
  EXPECT_EQ(read("{}"), speculative_config{});
  EXPECT_EQ(read("{}").method, speculative_method::suffix);
}

TEST(speculative_config, reads_what_vllm_documents) {
  const auto ngram = read(R"({"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4})");
  EXPECT_EQ(ngram.method, speculative_method::ngram);
  EXPECT_EQ(ngram.num_speculative_tokens, 5);
  EXPECT_EQ(ngram.prompt_lookup_min, 4);
  EXPECT_EQ(ngram.prompt_lookup_max, 4);
  EXPECT_EQ(read(R"({"method": "ngram", "prompt_lookup_min": 7})").prompt_lookup_max, 7);
  const auto suffix = read(
      R"({"method": "suffix", "num_speculative_tokens": 32, "suffix_decoding_max_tree_depth": 64,
          "suffix_decoding_max_cached_requests": 0, "suffix_decoding_max_spec_factor": 2.5,
          "suffix_decoding_min_token_prob": 0, "disable_by_batch_size": 8})");
  EXPECT_EQ(suffix.suffix_decoding_max_tree_depth, 64);
  EXPECT_EQ(suffix.suffix_decoding_max_cached_requests, 0);
  EXPECT_EQ(suffix.suffix_decoding_max_spec_factor, 2.5);
  EXPECT_EQ(suffix.suffix_decoding_min_token_prob, 0.0);
  EXPECT_EQ(suffix.disable_by_batch_size, 8);
  const auto model = read(R"({"model": "small.gguf", "num_speculative_tokens": 3,
                              "rejection_sample_method": "standard"})");
  EXPECT_EQ(model.method, speculative_method::draft_model);
  EXPECT_EQ(model.model, "small.gguf");
  EXPECT_EQ(model.rejection_sample_method, rejection_method::probabilistic);
}

TEST(speculative_config, refuses_a_field_that_is_there_twice_by_its_name) {
  EXPECT_EQ(wrong_field(R"({"num_speculative_tokens": 3, "method": "ngram", "num_speculative_tokens": 3})"),
            "num_speculative_tokens");
  EXPECT_EQ(wrong_field(R"({"method": "ngram", "method": "suffix"})"), "method");
  EXPECT_EQ(parse_speculative_config(R"({"adaptive": true, "adaptive": false})").error().message,
            "speculative_config: the field \"adaptive\" is there twice");
}

TEST(speculative_config, derives_the_method_as_vllm_does) {
  EXPECT_EQ(read(R"({"model": "ngram"})").method, speculative_method::ngram);
  EXPECT_EQ(read(R"({"method": "[ngram]"})").method, speculative_method::ngram);
  EXPECT_EQ(read(R"({"model": "folder/medusa.gguf"})").method, speculative_method::draft_model);
  EXPECT_EQ(read(R"({"method": null, "model": null})").method, speculative_method::suffix);
  const auto file = read(R"({"model": "suffix"})");
  EXPECT_EQ(file.method, speculative_method::draft_model) << "its only name without a method is ngram's";
  EXPECT_EQ(file.model, "suffix");
}

TEST(speculative_config, takes_what_asks_for_nothing_and_refuses_the_same_fields_at_other_values) {
  EXPECT_EQ(read(R"({"method": "ngram", "draft_tensor_parallel_size": 1, "enforce_eager": false,
                     "quantization": null, "max_model_len": null, "revision": null,
                     "parallel_drafting": null, "disable_padded_drafter_batch": false})"),
            read(R"({"method": "ngram"})"));
  for (const char* json : {R"({"draft_tensor_parallel_size": 2})", R"({"draft_tensor_parallel_size": "1"})",
                           R"({"draft_tensor_parallel_size": true})"})
    EXPECT_EQ(wrong_field(json), "draft_tensor_parallel_size") << json;
  EXPECT_EQ(wrong_field(R"({"parallel_drafting": true})"), "parallel_drafting");
  EXPECT_EQ(parse_speculative_config(R"({"quantization": "awq"})").error().message,
            "speculative_config: quantization can only be null here, not \"awq\"");
}

TEST(speculative_config, refuses_what_it_does_not_know_and_names_what_it_does) {
  for (const char* method : {"medusa", "eagle", "eagle3", "mtp", "mlp_speculator", "ngram_gpu", ""}) {
    const auto config = parse_speculative_config(R"({"method": ")" + std::string(method) + R"("})");
    ASSERT_FALSE(config) << method;
    EXPECT_EQ(config.error().param, "method");
  }
  const auto eagle = parse_speculative_config(R"({"method": "eagle", "model": "x"})");
  EXPECT_NE(eagle.error().message.find("ngram, suffix, draft_model"), std::string::npos);
  const auto unknown = parse_speculative_config(R"({"method": "ngram", "draft_tensors": 1})");
  EXPECT_EQ(unknown.error().param, "draft_tensors");
  EXPECT_NE(unknown.error().message.find("num_speculative_tokens"), std::string::npos);
}

TEST(speculative_config, names_the_field_that_is_out_of_range) {
  const std::vector<std::pair<const char*, const char*>> bad = {
      {R"({"num_speculative_tokens": 0})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": 65})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": 3.0})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": "3"})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": true})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": 18446744073709551615})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": -9223372036854775808})", "num_speculative_tokens"},
      {R"({"prompt_lookup_min": 0})", "prompt_lookup_min"},
      {R"({"prompt_lookup_max": 17})", "prompt_lookup_max"},
      {R"({"prompt_lookup_min": 4, "prompt_lookup_max": 3})", "prompt_lookup_min"},
      {R"({"suffix_decoding_max_tree_depth": 1})", "suffix_decoding_max_tree_depth"},
      {R"({"suffix_decoding_max_cached_requests": -1})", "suffix_decoding_max_cached_requests"},
      {R"({"suffix_decoding_max_spec_factor": -0.1})", "suffix_decoding_max_spec_factor"},
      {R"({"suffix_decoding_min_token_prob": 1.01})", "suffix_decoding_min_token_prob"},
      {R"({"suffix_decoding_min_token_prob": "0.1"})", "suffix_decoding_min_token_prob"},
      {R"({"disable_by_batch_size": 1})", "disable_by_batch_size"},
      {R"({"adaptive": 1})", "adaptive"},
      {R"({"rejection_sample_method": "block"})", "rejection_sample_method"},
      {R"({"rejection_sample_method": 1})", "rejection_sample_method"},
      {R"({"method": "draft_model"})", "model"},
      {R"({"method": "suffix", "model": "small.gguf"})", "model"},
      {R"({"method": "ngram", "model": "small.gguf"})", "model"},
      {R"({"method": 3})", "method"},
      {R"([])", "speculative_config"},
      {R"({)", "speculative_config"},
      {"", "speculative_config"},
  };
  for (const auto& [json, field] : bad) EXPECT_EQ(wrong_field(json), field) << json;
  EXPECT_EQ(wrong_field("{\"model\": \"" + std::string(20000, 'x') + "\"}"), "speculative_config");
  EXPECT_EQ(wrong_field(std::string(10000, '[')), "speculative_config");
}

TEST(speculative_config, is_written_as_it_is_read) {
  for (
      const char* json :
      {"{}", R"({"method": "ngram", "prompt_lookup_min": 2, "prompt_lookup_max": 7})",
       R"({"model": "a \"b\".gguf", "num_speculative_tokens": 4, "rejection_sample_method": "probabilistic"})",
       R"({"suffix_decoding_max_spec_factor": 1.5, "disable_by_batch_size": 32, "adaptive": false})"}) {
    const speculative_config config = read(json);
    EXPECT_EQ(read(to_json(config)), config) << json;
  }
  EXPECT_EQ(to_json(read(R"({"method": "ngram"})")),
            R"({"method":"ngram","num_speculative_tokens":16,"prompt_lookup_min":5,"prompt_lookup_max":5})");
  EXPECT_EQ(to_json(read(R"({"model": "small.gguf"})")),
            R"({"method":"draft_model","model":"small.gguf","num_speculative_tokens":4,)"
            R"("rejection_sample_method":"auto"})");
}

TEST(speculative_config, damaged_text_is_refused_or_read) {
  const std::string whole = R"({"method": "suffix", "num_speculative_tokens": 32, "model": "\u00e9",
                                "suffix_decoding_max_spec_factor": 2.5, "disable_by_batch_size": 8})";
  dice random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (std::int32_t damage = random.pick(1, 4); damage > 0; --damage)
      text[random.number() % text.size()] = static_cast<char>(random.pick(0, 255));
    const auto config = parse_speculative_config(text);
    if (!config) {
      EXPECT_EQ(config.error().code, error_code::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace troupe
