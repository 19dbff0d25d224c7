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
