#include "main/setup/company_options.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "main/setup/read_settings.hpp"

namespace troupe {
namespace {

tl::expected<config::loaded_settings, std::string> settings_of(
    std::map<std::string, std::string, std::less<>> flags) {
  config::setting_sources sources;
  sources.flags = std::move(flags);
  return read_settings(sources);
}

// What a program that embeds the company has to count on, as the service's users do.
TEST(company_options, are_what_the_settings_say) {
  const auto loaded = settings_of({{"device", "cpu"},
                                   {"served_model_name", "small, gpt-4o"},
                                   {"max_num_seqs", "5"},
                                   {"watermark", "0.5"}});
  ASSERT_TRUE(loaded) << loaded.error();
  const auto options = to_company_options(loaded->values, "models/Some-1B.Q4_1.gguf");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->engine.model_path, "models/Some-1B.Q4_1.gguf");
  EXPECT_EQ(options->served_model_name, "small");
  EXPECT_EQ(options->served_aliases, std::vector<std::string>{"gpt-4o"});
  EXPECT_EQ(options->engine.max_num_seqs, 5);
  EXPECT_EQ(options->scheduling.watermark, 0.5);
  EXPECT_TRUE(options->scheduling.enable_prefix_caching);
  EXPECT_TRUE(options->grammars.jump_forward);
  EXPECT_EQ(options->scheduling.max_steps_in_flight, 2);
  EXPECT_EQ(options->engine.max_steps_in_flight, 2);
  EXPECT_FALSE(options->engine.isolation) << "main() must know of it";
  EXPECT_FALSE(options->version.empty());
  const auto unnamed = to_company_options(config::settings{}, "models/Some-1B.Q4_1.gguf");
  EXPECT_EQ(unnamed->served_model_name, "Some-1B");
  EXPECT_TRUE(unnamed->served_aliases.empty());
}

// A reload that changes nothing must change nothing.
TEST(company_options, and_the_limits_of_a_reload_say_the_same) {
  const auto loaded = settings_of({{"device", "cpu"},
                                   {"max_num_queued_requests", "7"},
                                   {"scheduling_policy", "priority"},
                                   {"request_timeout", "3s"},
                                   {"queue_timeout", "2s"},
                                   {"step_deadline", "9s"},
                                   {"long_prefill_token_threshold", "33"}});
  ASSERT_TRUE(loaded) << loaded.error();
  const auto options = to_company_options(loaded->values, "m.gguf");
  const company_limits limits = to_company_limits(loaded->values);
  EXPECT_EQ(limits.request_timeout, options->request_timeout);
  EXPECT_EQ(limits.queue_timeout, options->queue_timeout);
  EXPECT_EQ(limits.step_deadline, options->step_deadline);
  EXPECT_EQ(limits.scheduling.policy, options->scheduling.policy);
  EXPECT_EQ(limits.scheduling.max_num_queued_requests, options->scheduling.max_num_queued_requests);
  EXPECT_EQ(limits.scheduling.long_prefill_token_threshold, options->scheduling.long_prefill_token_threshold);
  EXPECT_EQ(limits.scheduling.watermark, options->scheduling.watermark);
  EXPECT_EQ(limits.scheduling.max_num_seqs, options->engine.max_num_seqs);
}

// Settings that nobody has read: a program's own.
TEST(company_options, are_none_where_a_text_has_no_form) {
  config::settings settings;
  settings.served_model_name = "a,,b";
  EXPECT_FALSE(to_company_options(settings, "m.gguf"));
  settings = {};
  settings.otlp_traces_endpoint = "ftp://x";
  EXPECT_FALSE(to_company_options(settings, "m.gguf"));
  settings.otlp_traces_endpoint = "http://127.0.0.1:4318";
  EXPECT_TRUE(to_company_options(settings, "m.gguf")->traces);
}

}  // namespace
}  // namespace troupe
