#include "config/combinations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace troupe::config {
namespace {

using flags = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> warnings_of(const flags& given) {
  const auto loaded = load_settings({.flags = given, .environment = {}, .file = {}});
  EXPECT_TRUE(loaded) << loaded.error();
  return loaded ? warnings_about(*loaded) : std::vector<std::string>();
}

TEST(Combinations, ABudgetThatIsNotEnoughForAStepOfAllRequestsIsAWarning) {
  EXPECT_TRUE(warnings_of({{"max_num_batched_tokens", "40"}, {"max_num_seqs", "40"}}).empty());
  const auto warnings = warnings_of({{"max_num_batched_tokens", "39"}, {"max_num_seqs", "40"}});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("--max-num-batched-tokens: 39 tokens are not enough")) << warnings[0];
}

TEST(Combinations, AnOptionThatAnotherLeavesWithoutEffectIsAWarning) {
  struct combination {
    flags given;
    std::string warning;
  };
  for (const auto& [given, warning] : {
           combination{
               {{"kv_cache_memory", "1GiB"}, {"memory_utilization", "0.5"}},
               "--kv-cache-memory: has no effect beside a share of the free memory (--memory-utilization)"},
           combination{
               {{"bucketing_from_file", "f"}, {"prompt_bs_bucket_max", "4"}},
               "--prompt-bs-bucket-max: has no effect beside a file of buckets (--bucketing-from-file)"},
           combination{{{"bucketing_strategy", "unified"}, {"decode_batch_bucket_min", "2"}},
                       "--decode-batch-bucket-min: has no effect with the bucketing strategy unified "
                       "(--bucketing-strategy)"},
           combination{
               {{"decode_bs_bucket_min", "4"}, {"decode_batch_bucket_strategy", "linear"}},
               "--decode-bs-bucket-min: has no effect beside decode_batch_bucket_*, which count down from "
               "max_num_seqs"},
           combination{
               {{"bucketing_strategy", "linear"}, {"bucket_fill", "drop"}},
               "--bucket-fill: has no effect with the bucketing strategy linear (--bucketing-strategy)"},
           combination{{{"bucketing_strategy", "linear"}, {"prompt_query_bucket_limit", "3"}},
                       "--prompt-query-bucket-limit: has no effect with the bucketing strategy linear "
                       "(--bucketing-strategy)"},
           combination{{{"enforce_eager", "true"}, {"bucket_padding", "on"}},
                       "--bucket-padding: has no effect beside --enforce-eager"},
           combination{{{"enforce_eager", "true"}, {"warmup", "full"}},
                       "--warmup: has no effect beside --enforce-eager"},
           combination{{{"skip_warmup", "true"}, {"warmup", "full"}},
                       "--warmup: has no effect beside --skip-warmup"},
           combination{{{"batch_invariant", "true"}}, "--batch-invariant: has no effect on the CPU"},
           combination{{{"device", "cpu"}, {"gpu_memory_utilization", "0.5"}},
                       "--gpu-memory-utilization: has no effect on the CPU"},
           combination{{{"device", "cuda"}, {"kernel_path", "avx2"}},
                       "--kernel-path: has no effect on a CUDA device"},
           combination{{{"device", "cuda"}, {"threads", "2"}}, "--threads: has no effect on a CUDA device"},
           combination{{{"device", "cuda"}, {"kv_cache_memory", "1GiB"}},
                       "--kv-cache-memory: has no effect on a CUDA device"},
           combination{{{"device", "cuda"}, {"memory_utilization", "0.5"}},
                       "--memory-utilization: has no effect on a CUDA device"},
           combination{{{"device", "cuda"}, {"memory_utilization", "0.5"}, {"on_device_loss", "cpu"}},
                       "--memory-utilization: has no effect on a CUDA device"},
           combination{{{"device", "cuda"}, {"tuning_file", "t"}},
                       "--tuning-file: has no effect on a CUDA device"},
       })
    EXPECT_EQ(warnings_of(given), std::vector<std::string>{warning});
}

TEST(Combinations, AWarningOfALineInAFileNamesItsOption) {
  const temporary_file file(
      "device_id = 1\n"
      "enforce_eager = true\n"
      "warmup = \"full\"\n"
      "max_num_batched_tokens = 39\n"
      "max_num_seqs = 40\n");
  const auto loaded = load_settings({.flags = {}, .environment = {}, .file = file.path()});
  ASSERT_TRUE(loaded) << loaded.error();
  const std::vector<std::string> warnings = warnings_about(*loaded);
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_TRUE(warnings[0].starts_with(file.path() + ":4: max_num_batched_tokens: 39 tokens are not enough"));
  EXPECT_EQ(warnings[1], file.path() + ":1: device_id: has no effect on the CPU");
  EXPECT_EQ(warnings[2],
            file.path() + ":3: warmup: has no effect beside enforce_eager (" + file.path() + ":2)");
}

TEST(Combinations, WhatHasItsEffectIsNone) {
  for (const flags& given : {
           flags{{"kv_cache_memory", "1GiB"}},
           flags{{"memory_utilization", "0.5"}},
           flags{{"bucketing_strategy", "unified"}},
           flags{{"bucketing_strategy", "linear"}, {"prompt_bs_bucket_max", "4"}},
           flags{{"bucketing_strategy", "linear"},
                 {"decode_batch_bucket_strategy", "linear"},
                 {"decode_batch_bucket_limit", "4"}},
           flags{{"skip_warmup", "false"}, {"warmup", "full"}},
           flags{{"device", "cuda"}, {"gpu_weights", "fp8"}, {"device_id", "1"}, {"on_device_loss", "cpu"}},
           flags{
               {"device", "cuda"}, {"threads", "2"}, {"kv_cache_memory", "1GiB"}, {"on_device_loss", "cpu"}},
           flags{{"decode_batch_bucket_min", "2"}, {"decode_block_bucket_max", "8"}},
       })
    EXPECT_TRUE(warnings_of(given).empty());
}

}  // namespace
}  // namespace troupe::config
