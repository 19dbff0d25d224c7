#include "runtime/kv_cache/block_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/runtime/allocations_fixture.hpp"

namespace troupe {
namespace {

std::vector<std::int32_t> fill(block_table& table, std::int32_t first) {
  std::vector<std::int32_t> written;
  while (!table.full()) {
    written.push_back(first);
    table.push_back(first++);
  }
  return written;
}

TEST(block_table, holds_as_many_blocks_as_were_asked_for) {
  table_memory memory;
  for (const std::size_t room : {1U, 63U, 64U, 65U, 128U, 129U, 1000U, 8192U, 8193U, 100000U}) {
    block_table table = memory.take(room);
    EXPECT_TRUE(table.empty());
    const auto written = fill(table, 7);
    EXPECT_GE(written.size(), room);
    EXPECT_LT(written.size(), std::max(2 * room, table_memory::smallest + 1));
    EXPECT_TRUE(std::equal(table.begin(), table.end(), written.begin(), written.end()));
  }
}

TEST(block_table, tables_side_by_side_share_no_room) {
  table_memory memory;
  std::vector<block_table> tables;
  std::vector<std::vector<std::int32_t>> written;
  for (std::int32_t i = 0; i < 200; ++i) {
    tables.push_back(memory.take(1 + static_cast<std::size_t>(i * 37 % 300)));
    written.push_back(fill(tables.back(), i * 1000));
  }
  for (std::size_t i = 0; i < tables.size(); ++i)
    EXPECT_TRUE(std::equal(tables[i].begin(), tables[i].end(), written[i].begin(), written[i].end())) << i;
}

TEST(block_table, what_stands_in_a_table_does_not_move_while_it_grows) {
  table_memory memory;
  block_table table = memory.take(100);
  table.push_back(3);
  const std::span<const std::int32_t> before = table.blocks();
  fill(table, 4);
  EXPECT_EQ(before.data(), table.blocks().data());
  EXPECT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0], 3);
}

TEST(block_table, room_given_back_is_used_again_without_allocating) {
  table_memory memory;
  std::vector<block_table> tables(100);
  for (block_table& table : tables) table = memory.take(64);
  std::set<const std::int32_t*> rooms;
  for (const block_table& table : tables) rooms.insert(table.begin());
  EXPECT_EQ(rooms.size(), 100U);
  const long before = test::allocations();
  for (block_table& table : tables) {
    table.push_back(1);
    memory.give_back(table);
    EXPECT_TRUE(table.empty());
    EXPECT_TRUE(table.full());
  }
  for (block_table& table : tables) table = memory.take(64);
  EXPECT_EQ(test::allocations(), before);
  for (const block_table& table : tables) EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace troupe
