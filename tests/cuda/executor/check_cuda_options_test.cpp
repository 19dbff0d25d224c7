// Shapes of models that a CUDA device has no kernels for are refused at the start, by what is too large.
#include "runtime/executor_cuda/check_cuda_options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "executors_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;
using kernels::cuda::kv_element;

model_config served() {
  model_config config;
  config.vocab_size = 151'936;
  config.hidden_size = 8192;
  config.num_layers = 2;
  config.num_heads = 64;
  config.num_kv_heads = 8;
  config.head_dim = 128;
  config.rope_dim = 128;
  return config;
}

result<void> check(const model_config& config) {
  cuda_executor_options options = test::small_cuda_options();
  options.limits.max_rows = 64;
  options.limits.max_sequences = 4;
  return check_cuda_options(config, options, element_type::bf16, kv_element::bf16);
}

TEST(check_cuda_options, takes_what_the_kernels_compute) {
  EXPECT_TRUE(check(served()).has_value());
  model_config largest = served();
  largest.vocab_size = 1 << 20;
  largest.hidden_size = 32'768;
  largest.head_dim = 256;
  largest.rope_dim = 16;
  EXPECT_TRUE(check(largest).has_value());
}

TEST(check_cuda_options, says_which_size_of_a_model_is_beyond_the_kernels) {
  const std::vector<std::pair<std::string, std::function<void(model_config&)>>> beyond{
      {"rotates 20 elements", [](model_config& config) { config.rope_dim = 20; }},
      {"rotates 8 elements", [](model_config& config) { config.rope_dim = 8; }},
      {"1048577 tokens", [](model_config& config) { config.vocab_size = (1 << 20) + 1; }},
      {"hidden size is 32800", [](model_config& config) { config.hidden_size = 32'800; }},
      {"heads have 272 elements", [](model_config& config) { config.head_dim = 272; }},
      {"heads have 72 elements", [](model_config& config) { config.head_dim = 72; }},
  };
  for (const auto& [said, change] : beyond) {
    model_config config = served();
    change(config);
    const auto checked = check(config);
    ASSERT_FALSE(checked.has_value()) << said;
    EXPECT_EQ(checked.error().code, error_code::unsupported);
    EXPECT_NE(checked.error().message.find(said), std::string::npos) << checked.error().message;
    EXPECT_NE(checked.error().message.find("--device=cpu"), std::string::npos);
    EXPECT_EQ(checked.error().param, "device");
  }
}

// Compute capability 8.6 and 8.9 have 99 KiB of shared memory for a block.
TEST(check_cuda_options, says_where_a_device_has_too_little_shared_memory_for_the_heads) {
  cuda_device device;
  device.name = "a small one";
  device.shared_per_block = 99U << 10U;
  for (const std::int32_t head_dim : {16, 64, 128, 192})
    EXPECT_TRUE(check_heads(head_dim, device).has_value()) << head_dim;
  for (const std::int32_t head_dim : {208, 256}) {
    const auto checked = check_heads(head_dim, device);
    ASSERT_FALSE(checked.has_value()) << head_dim;
    EXPECT_NE(checked.error().message.find("a small one"), std::string::npos);
  }
  device.shared_per_block = 227U << 10U;
  EXPECT_TRUE(check_heads(256, device).has_value());
}

TEST(check_cuda_options, says_what_to_build_where_there_is_no_code_for_a_device) {
  struct built_for {
    const char* capabilities;
    int major, minor;
    bool runs;
  };
  const built_for cases[] = {
      {"80,90,100", 8, 0, true},  {"80,90,100", 8, 9, true},    {"80,90,100", 9, 0, true},
      {"80,90,100", 10, 3, true}, {"80,90,100", 12, 1, true},   {"90", 8, 0, false},
      {"80,100", 9, 0, false},    {"86", 8, 0, false},          {"86", 8, 9, true},
      {"90", 12, 0, true},        {"90a", 9, 0, true},          {"90a", 10, 0, false},
      {"80,100f", 10, 3, true},   {"80,100f", 12, 0, false},    {"100a", 10, 3, false},
      {"80,90a,120", 9, 0, true}, {"80,90a,120", 10, 0, false}, {"90,90a", 12, 0, false},
      {"100,100f", 12, 0, false}, {"100,100f", 10, 0, true},    {"", 9, 0, true}};
  for (const built_for& each : cases) {
    cuda_device device;
    device.major = each.major;
    device.minor = each.minor;
    const auto checked = check_code(each.capabilities, device);
    EXPECT_EQ(checked.has_value(), each.runs)
        << each.capabilities << " on " << each.major << "." << each.minor;
    if (checked) continue;
    EXPECT_EQ(checked.error().code, error_code::unsupported);
    const std::string wanted = "-DTROUPE_CUDA_ARCHITECTURES=" + std::to_string(10 * each.major + each.minor);
    EXPECT_NE(checked.error().message.find(wanted), std::string::npos) << checked.error().message;
  }
}

}  // namespace
}  // namespace troupe
