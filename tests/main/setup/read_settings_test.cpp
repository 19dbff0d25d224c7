#include "main/setup/read_settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

config::setting_sources of_flags(std::map<std::string, std::string, std::less<>> given) {
  config::setting_sources sources;
  sources.flags = std::move(given);
  return sources;
}

TEST(read_settings, looks_at_every_text_that_has_a_form_of_its_own_and_names_its_origin) {
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"served_model_name", "a,,b"}, {"cors_origins", "chat.example"}, {"default_chat_template_kwargs", "["},
      {"chat_template", "/nowhere"}, {"speculative_config", "{"},      {"otlp_traces_endpoint", "ftp://x"},
      {"max_num_seqs", "0"},         {"scheduling_policy", "first"}};
  for (const auto& [name, text] : wrong) {
    const auto loaded = read_settings(of_flags({{"device", "cpu"}, {name, text}}));
    ASSERT_FALSE(loaded) << name;
    std::string flag = std::string("--") + name;
    for (char& c : flag)
      if (c == '_') c = '-';
    EXPECT_TRUE(loaded.error().starts_with(flag)) << loaded.error();
  }
}

TEST(read_settings, passes_over_with_a_warning_what_is_set_for_other_programs_and_cannot_be_used_here) {
  using pairs = std::vector<std::pair<std::string, std::string>>;
  config::setting_sources sources = of_flags({{"device", "cpu"}});
  for (const char* endpoint : {"https://otel:4318", "grpc://otel:4317", "otel:4317"}) {
    sources.environment = pairs{{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint}};
    const auto loaded = read_settings(sources);
    ASSERT_TRUE(loaded) << loaded.error();
    EXPECT_EQ(loaded->values.otlp_traces_endpoint, "");
    EXPECT_FALSE(loaded->origins.contains("otlp_traces_endpoint"));
    ASSERT_EQ(loaded->warnings.size(), 1U);
    EXPECT_TRUE(loaded->warnings[0].starts_with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: passed over: "))
        << loaded->warnings[0];
    EXPECT_TRUE(loaded->warnings[0].find(endpoint) != std::string::npos) << loaded->warnings[0];
  }
  sources.flags["otlp_traces_endpoint"] = "http://127.0.0.1:4318";
  sources.environment = pairs{{"OTEL_TRACES_SAMPLER", "jaeger_remote"}, {"OTEL_TRACES_SAMPLER_ARG", "x"}};
  auto loaded = read_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.otel_traces_sampler, "parentbased_always_on");
  EXPECT_EQ(loaded->warnings.size(), 1U);
  sources.flags["otel_traces_sampler"] = "traceidratio";
  loaded = read_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.otel_traces_sampler_arg, "");
  EXPECT_EQ(loaded->warnings.size(), 1U);
}

TEST(read_settings, refuses_what_cannot_be_used_where_it_is_set_for_this_program) {
  config::setting_sources sources = of_flags({{"device", "cpu"}});
  sources.environment = {{"TROUPE_OTLP_TRACES_ENDPOINT", "https://otel:4318"},
                         {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://otel:4318"}};
  const auto loaded = read_settings(sources);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().starts_with("TROUPE_OTLP_TRACES_ENDPOINT: ")) << loaded.error();
}

TEST(read_settings, reads_no_environment_but_what_it_is_given) {
  config::setting_sources sources = of_flags({{"device", "cpu"}});
  ::setenv("TROUPE_MAX_NUM_SEQS", "5", 1);
  EXPECT_EQ(read_settings(sources)->values.max_num_seqs, 64);
  sources.environment = environment_here();
  EXPECT_EQ(read_settings(sources)->values.max_num_seqs, 5);
  ::unsetenv("TROUPE_MAX_NUM_SEQS");
  sources.environment = {{"TROUPE_MAX_NUM_SEQS", "3"}};
  EXPECT_EQ(read_settings(sources)->values.max_num_seqs, 3);
}

TEST(read_settings, that_are_read_again_keep_the_device) {
  config::setting_sources sources = of_flags({{"device", "auto"}});
  sources.are_read_again = true;
  sources.device_in_use = "cuda";
  EXPECT_EQ(read_settings(sources)->values.device, "cuda");
}

}  // namespace
}  // namespace troupe
