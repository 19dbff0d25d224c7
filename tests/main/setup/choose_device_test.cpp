#include "main/setup/choose_device.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

config::loaded_settings settings(const std::string& device) {
  config::loaded_settings loaded;
  loaded.values.device = device;
  loaded.origins["device"] = "--device";
  return loaded;
}

cuda_support one_device() {
  cuda_support cuda;
  cuda.find = [](std::int32_t id) -> result<std::string> {
    if (id != 0) return fail(error_code::unavailable, "there is no device 3", "device_id");
    return std::string("a device");
  };
  return cuda;
}

TEST(ChooseDevice, TakesADeviceWhereThereIsOneAndWhatIsUsualThere) {
  for (const char* device : {"auto", "cuda"}) {
    config::loaded_settings loaded = settings(device);
    ASSERT_TRUE(choose_device(loaded, one_device()));
    EXPECT_EQ(loaded.values.device, "cuda");
    EXPECT_EQ(loaded.values.max_num_batched_tokens, 8192);
    EXPECT_EQ(loaded.values.max_num_seqs, 256);
    EXPECT_EQ(loaded.values.gpu_memory_utilization, 0.9);
    EXPECT_TRUE(loaded.values.enable_prefix_caching);
    EXPECT_TRUE(loaded.values.enable_chunked_prefill);
  }
}

TEST(ChooseDevice, LeavesWhatSomebodyHasSet) {
  config::loaded_settings loaded = settings("cuda");
  loaded.values.max_num_seqs = 64;
  loaded.origins["max_num_seqs"] = "TROUPE_MAX_NUM_SEQS";
  ASSERT_TRUE(choose_device(loaded, one_device()));
  EXPECT_EQ(loaded.values.max_num_seqs, 64);
  EXPECT_EQ(loaded.values.max_num_batched_tokens, 8192);
}

TEST(ChooseDevice, WithoutADeviceAutoStaysOnTheCpuAndCudaIsRefused) {
  for (const cuda_support& cuda : {cuda_support{}, one_device()}) {
    config::loaded_settings automatic = settings("auto");
    automatic.values.device_id = 3;
    ASSERT_TRUE(choose_device(automatic, cuda));
    EXPECT_EQ(automatic.values.device, "auto");
    if (cuda.find)
      EXPECT_EQ(automatic.notes,
                std::vector<std::string>{"device is auto, and the CPU it is: there is no device 3"});
    else
      EXPECT_TRUE(automatic.notes.empty()) << "a program without CUDA has nothing else";
    EXPECT_EQ(automatic.values.max_num_seqs, config::settings().max_num_seqs);
    config::loaded_settings asked = settings("cuda");
    asked.values.device_id = 3;
    const auto refused = choose_device(asked, cuda);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().starts_with("--device: device is cuda, but ")) << refused.error();
  }
}

TEST(ChooseDevice, OnTheCpuStepsAreAsLongAsItsThreadsAreMany) {
  const auto tokens = [](std::int32_t threads, std::int32_t sequences, bool cuts = true) {
    config::loaded_settings loaded = settings("cpu");
    loaded.values.threads = threads;
    loaded.values.max_num_seqs = sequences;
    loaded.values.enable_chunked_prefill = cuts;
    EXPECT_TRUE(choose_device(loaded, cuda_support{}));
    return loaded.values.max_num_batched_tokens;
  };
  EXPECT_EQ(tokens(1, 64), 128);
  EXPECT_EQ(tokens(2, 64), 128);
  EXPECT_EQ(tokens(4, 64), 256);
  EXPECT_EQ(tokens(512, 64), 512);
  EXPECT_EQ(tokens(2, 100), 200) << "all that run have room for a token, and prompts for as many";
  EXPECT_EQ(tokens(2, 4096), 512);
  EXPECT_EQ(tokens(2, 64, false), 512) << "a prompt has to fit into one";
  config::loaded_settings loaded = settings("auto");
  loaded.values.max_num_batched_tokens = 48;
  loaded.origins["max_num_batched_tokens"] = "--max-num-batched-tokens";
  ASSERT_TRUE(choose_device(loaded, cuda_support{}));
  EXPECT_EQ(loaded.values.max_num_batched_tokens, 48);
}

TEST(ChooseDevice, OnTheCpuNobodyLooksForADevice) {
  config::loaded_settings loaded = settings("cpu");
  cuda_support cuda;
  cuda.find = [](std::int32_t) -> result<std::string> {
    ADD_FAILURE() << "looked for";
    return std::string();
  };
  ASSERT_TRUE(choose_device(loaded, cuda));
  EXPECT_EQ(loaded.values.device, "cpu");
  EXPECT_EQ(loaded.values.max_num_seqs, config::settings().max_num_seqs);
}

// A device that is lost, or one that has come, since the start: what runs is what was chosen then.
TEST(ChooseDevice, IsNotDoneAgainWhereSettingsAreReadAgain) {
  config::loaded_settings on_cuda = settings("auto");
  keep_device(on_cuda, "cuda");
  EXPECT_EQ(on_cuda.values.device, "cuda");
  EXPECT_EQ(on_cuda.values.max_num_seqs, 256);
  config::loaded_settings on_cpu = settings("auto");
  keep_device(on_cpu, "auto");
  EXPECT_EQ(on_cpu.values.device, "auto");
  EXPECT_EQ(on_cpu.values.max_num_seqs, config::settings().max_num_seqs);
  config::loaded_settings another = settings("cpu");
  keep_device(another, "cuda");
  EXPECT_EQ(another.values.device, "cpu") << "which the reload refuses";
}

}  // namespace
}  // namespace troupe
