#include "runtime/kv_cache/block_pool.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

block_hash content(std::uint8_t i) {
  block_hash hash{};
  hash[5] = i;
  return hash;
}

std::string check(const block_pool& pool) {
  std::vector<std::int32_t> holders;
  for (std::int32_t block = 0; block < pool.num_blocks(); ++block) holders.push_back(pool.references(block));
  return pool.check(holders);
}

TEST(block_pool, a_published_block_stays_findable_after_its_last_holder_until_it_is_taken) {
  block_pool pool(2);
  const std::int32_t block = pool.take();
  pool.publish(block, content(1));
  pool.drop(block);
  EXPECT_EQ(pool.num_cached(), 1);
  EXPECT_EQ(pool.available(), 2);
  EXPECT_EQ(pool.find(content(1)), block);
  EXPECT_NE(pool.take(), block) << "a free block goes before a cached one";
  EXPECT_EQ(pool.find(content(1)), block);
  EXPECT_EQ(pool.take(), block);
  EXPECT_EQ(pool.find(content(1)), std::nullopt);
  EXPECT_EQ(pool.num_cached(), 0);
  EXPECT_EQ(check(pool), "");
}

TEST(block_pool, evicts_the_content_used_least_recently) {
  block_pool pool(3);
  for (std::uint8_t i = 0; i < 3; ++i) pool.publish(pool.take(), content(i));
  for (const std::int32_t block : {1, 0, 2}) pool.drop(block);
  pool.share(1);  // used again: the last to go
  pool.drop(1);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.find(content(1)), 1);
  EXPECT_EQ(check(pool), "");
}

TEST(block_pool, takes_the_free_block_first_that_came_back_last) {
  block_pool pool(4);
  for (int i = 0; i < 3; ++i) pool.take();
  pool.drop(1);
  pool.drop(0);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 3);
}

TEST(block_pool, keeps_one_unused_copy_of_a_content_the_one_used_last) {
  block_pool pool(4);
  for (int i = 0; i < 3; ++i) pool.publish(pool.take(), content(9));
  pool.drop(0);
  EXPECT_EQ(pool.num_cached(), 0) << "others hold the same";
  pool.drop(2);
  pool.drop(1);
  EXPECT_EQ(pool.num_cached(), 1);
  EXPECT_EQ(pool.find(content(9)), 1);
  pool.publish(pool.take(), content(9));  // computed again beside the cached one
  EXPECT_EQ(check(pool), "");
  pool.drop(2);
  EXPECT_EQ(pool.num_cached(), 1);
  EXPECT_EQ(pool.find(content(9)), 2);
  EXPECT_EQ(check(pool), "");
}

TEST(block_pool, forgets_all_contents_at_once) {
  block_pool pool(3);
  pool.publish(pool.take(), content(1));
  pool.publish(pool.take(), content(2));
  pool.drop(1);
  pool.forget_contents();
  EXPECT_EQ(pool.find(content(1)), std::nullopt);
  EXPECT_EQ(pool.find(content(2)), std::nullopt);
  EXPECT_EQ(pool.num_cached(), 0);
  EXPECT_EQ(pool.published(0), std::nullopt);
  pool.drop(0);
  EXPECT_EQ(pool.available(), 3);
  EXPECT_EQ(check(pool), "");
}

TEST(block_pool, check_names_a_wrong_count_of_holders) {
  block_pool pool(2);
  pool.take();
  EXPECT_EQ(pool.check(std::vector<std::int32_t>{1, 0}), "");
  EXPECT_EQ(pool.check(std::vector<std::int32_t>{2, 0}), "block 0 counts 1 holders and has 2");
}

TEST(block_pool, may_have_no_block) {
  block_pool pool(0);
  EXPECT_EQ(pool.num_blocks(), 0);
  EXPECT_EQ(pool.available(), 0);
  pool.expect_as_many_takes();
  pool.forget_contents();
  EXPECT_EQ(pool.find(block_hash{}), std::nullopt);
  EXPECT_EQ(check(pool), "");
}

}  // namespace
}  // namespace troupe
