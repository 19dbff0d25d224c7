#include "runtime/executor/cpu/kv_pool.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/reference/reference_kernels.hpp"

namespace troupe {
namespace {

using kernels::kv_dtype;

model_config small() {
  model_config config;
  config.num_layers = 3;
  config.num_kv_heads = 2;
  config.head_dim = 32;
  return config;
}

class kv_pool_of : public testing::TestWithParam<kv_dtype> {};

INSTANTIATE_TEST_SUITE_P(dtype, kv_pool_of, testing::Values(kv_dtype::f16, kv_dtype::int8),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

// Every tile of a block, all layers and heads, one after the other.
std::vector<std::byte> contents(const kv_pool& pool, std::int32_t block) {
  const std::size_t bytes = kernels::tile_bytes(pool.dtype(), small().head_dim);
  std::vector<std::byte> all;
  for (std::int32_t layer = 0; layer < small().num_layers; ++layer) {
    for (std::int32_t offset = 0; offset < pool.layout().block_size; offset += kernels::tile_tokens) {
      for (std::int32_t head = 0; head < small().num_kv_heads; ++head) {
        const std::byte* tile = pool.tile(block, offset, layer, head);
        all.insert(all.end(), tile, tile + bytes);
      }
    }
  }
  return all;
}

TEST_P(kv_pool_of, tiles_fill_their_blocks_without_overlap) {
  const auto pool = kv_pool::create(small(), GetParam(), 32, 1U << 20);
  ASSERT_TRUE(pool.has_value()) << pool.error().message;
  EXPECT_EQ(contents(*pool, 0).size(), pool->layout().bytes_per_block);
  EXPECT_EQ(pool->tile(1, 0, 0, 0) - pool->tile(0, 0, 0, 0),
            static_cast<std::ptrdiff_t>(pool->layout().bytes_per_block));
  unsigned mark = 0;
  std::vector<std::byte*> tiles;
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    for (const std::int32_t offset : {0, 16}) {
      for (const std::int32_t head : {0, 1}) tiles.push_back(pool->tile(1, offset, layer, head));
    }
  }
  const std::size_t bytes = kernels::tile_bytes(GetParam(), 32);
  for (std::byte* tile : tiles) std::memset(tile, static_cast<int>(++mark), bytes);
  mark = 0;
  for (const std::byte* tile : tiles) {
    ++mark;
    EXPECT_EQ(std::to_integer<unsigned>(tile[0]), mark);
    EXPECT_EQ(std::to_integer<unsigned>(tile[bytes - 1]), mark);
  }
}

// Tokens with values of their own, stored through their slots.
void store_block(const kv_pool& pool, std::int32_t block, float first) {
  const auto& kernels = kernels::reference_kernels.kv(pool.dtype());
  for (std::int32_t layer = 0; layer < small().num_layers; ++layer) {
    for (std::int32_t head = 0; head < small().num_kv_heads; ++head) {
      for (std::int32_t i = 0; i < pool.layout().block_size; ++i) {
        std::vector<float> values(static_cast<std::size_t>(small().head_dim));
        float x = first + static_cast<float>(100 * layer + 50 * head + 10 * i);
        for (float& value : values) value = std::sin(x += 0.1F);
        kernels.store(values.data(), values.data(), small().head_dim, pool.place(block, i),
                      pool.tile(block, i, layer, head));
      }
    }
  }
}

// A block's tokens, each alone in a tile.
std::vector<std::byte> tokens_of(const kv_pool& pool, std::int32_t block) {
  const std::size_t bytes = kernels::tile_bytes(pool.dtype(), small().head_dim);
  std::vector<std::byte> all;
  for (std::int32_t layer = 0; layer < small().num_layers; ++layer) {
    for (std::int32_t head = 0; head < small().num_kv_heads; ++head) {
      for (std::int32_t i = 0; i < pool.layout().block_size; ++i) {
        std::vector<std::byte> alone(bytes);
        kernels::copy_token(pool.dtype(), small().head_dim, pool.tile(block, i, layer, head),
                            pool.place(block, i), alone.data(), 3);
        all.insert(all.end(), alone.begin(), alone.end());
      }
    }
  }
  return all;
}

TEST_P(kv_pool_of, copies_a_block_that_shares_its_tiles_and_touches_no_other) {
  for (const std::int32_t block_size : {1, 2, 4, 8}) {
    auto pool = kv_pool::create(small(), GetParam(), block_size, 1U << 20);
    ASSERT_TRUE(pool.has_value()) << pool.error().message;
    EXPECT_TRUE(pool->shares_tiles());
    EXPECT_EQ(pool->layout().bytes_per_block * 16 / static_cast<std::size_t>(block_size),
              kv_pool::create(small(), GetParam(), 16, 1U << 20)->layout().bytes_per_block);
    std::vector<std::vector<std::byte>> before;
    for (std::int32_t block = 0; block < 40; ++block) {
      store_block(*pool, block, static_cast<float>(1000 * block));
    }
    for (std::int32_t block = 0; block < 40; ++block) before.push_back(tokens_of(*pool, block));
    EXPECT_NE(before[5], before[18]);
    pool->copy_block(5, 18);
    for (std::int32_t block = 0; block < 40; ++block) {
      EXPECT_EQ(tokens_of(*pool, block), before[static_cast<std::size_t>(block == 18 ? 5 : block)])
          << block << " of " << block_size;
    }
  }
}

TEST_P(kv_pool_of, copies_a_block_whole_and_touches_no_other) {
  auto pool = kv_pool::create(small(), GetParam(), 32, 1U << 20);
  ASSERT_TRUE(pool.has_value()) << pool.error().message;
  ASSERT_GE(pool->layout().num_blocks, 5);
  std::mt19937 random(1);
  std::byte* memory = pool->tile(0, 0, 0, 0);
  for (std::size_t i = 0; i < 5 * pool->layout().bytes_per_block; ++i)
    memory[i] = static_cast<std::byte>(random());
  std::vector<std::vector<std::byte>> before;
  for (std::int32_t block = 0; block < 5; ++block) before.push_back(contents(*pool, block));
  pool->copy_block(1, 3);
  for (const std::int32_t block : {0, 1, 2, 4})
    EXPECT_EQ(contents(*pool, block), before[static_cast<std::size_t>(block)]);
  EXPECT_EQ(contents(*pool, 3), before[1]);
}

TEST(kv_pool, refuses_what_it_cannot_hold) {
  const auto code = [](const model_config& config, kv_dtype dtype, std::int32_t block_size,
                       std::size_t bytes) {
    return kv_pool::create(config, dtype, block_size, bytes).error().code;
  };
  for (const std::int32_t size : {-16, 0, 3, 12, 20, 8192})
    EXPECT_EQ(code(small(), kv_dtype::f16, size, 1U << 20), error_code::invalid_argument) << size;
  EXPECT_EQ(code(small(), kv_dtype::f16, 24, 1U << 20), error_code::invalid_argument);
  EXPECT_EQ(code(small(), kv_dtype::int8, 16, 100), error_code::resource_exhausted);
  model_config wide = small();
  wide.head_dim = kernels::max_int8_head_dim + 16;
  EXPECT_EQ(code(wide, kv_dtype::int8, 16, 1U << 20), error_code::unsupported);
  EXPECT_TRUE(kv_pool::create(wide, kv_dtype::f16, 16, 16U << 20).has_value());
}

}  // namespace
}  // namespace troupe
