#include "actors/load_engine.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

struct LoadEngine : testing::Test {
  engine_options options() const {
    engine_options out;
    out.model_path = file.path();
    out.max_num_seqs = 4;
    out.max_num_batched_tokens = 64;
    out.kv_cache_bytes = std::size_t{4} << 20U;
    out.threads = 1;
    return out;
  }
  // Whole KV memory for `tokens` tokens.
  std::size_t bytes_for(std::int32_t tokens) const {
    const auto loaded = load_engine(options());
    const kv_layout layout = loaded->device->layout();
    return static_cast<std::size_t>(tokens / layout.block_size) * layout.bytes_per_block;
  }

  test::temporary_file file{test::tiny_model()};
};

TEST_F(LoadEngine, AContextThatTheKvCacheHoldsIsKept) {
  const auto all = load_engine(options());
  ASSERT_TRUE(all) << all.error().message;
  engine_options some = options();
  some.max_model_len = 64;
  some.kv_cache_bytes = bytes_for(64);
  const auto loaded = load_engine(some);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->max_model_len, 64);
  EXPECT_GT(all->max_model_len, 64);
}

TEST_F(LoadEngine, AContextThatTheKvCacheDoesNotHoldIsRefusedWhereItWasAskedFor) {
  engine_options small = options();
  small.kv_cache_bytes = bytes_for(48);
  small.max_model_len = 64;
  const auto loaded = load_engine(small);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::invalid_argument);
  EXPECT_EQ(loaded.error().param, "max_model_len");
  for (const char* word : {"64", "48", "lower max_model_len", "raise kv_cache_memory"})
    EXPECT_NE(loaded.error().message.find(word), std::string::npos) << loaded.error().message;
}

TEST_F(LoadEngine, AContextThatTheKvCacheDoesNotHoldIsLoweredWhereItIsTheModels) {
  engine_options small = options();
  small.kv_cache_bytes = bytes_for(48);
  const auto loaded = load_engine(small);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->max_model_len, 48);
}

TEST_F(LoadEngine, MoreKvMemoryThanTheMachineHasIsRefused) {
  engine_options large = options();
  large.kv_cache_bytes = std::size_t{1} << 50U;
  const auto loaded = load_engine(large);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().param, "kv_cache_memory");
}

}  // namespace
}  // namespace troupe
