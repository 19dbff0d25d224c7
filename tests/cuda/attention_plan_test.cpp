#include <gtest/gtest.h>

#include "kernels/cuda/attention/paged_attention.hpp"

namespace troupe {
namespace {

using kernels::cuda::attention_item;
using kernels::cuda::attention_plan;

std::vector<std::vector<std::int32_t>> listed(std::span<const attention_item> items) {
  std::vector<std::vector<std::int32_t>> list;
  for (const attention_item& item : items) {
    list.push_back({item.table, item.first_pair, item.stretch, item.partial_row});
  }
  return list;
}

TEST(attention_plan, splits_few_queries_along_the_context) {
  attention_plan plan(4, 1000, 100);
  plan.add(0, 1, 256);  // one stretch needs no room
  plan.add(1, 1, 513);  // three, of four pairs each
  plan.add(2, 5, 257);  // two tiles of pairs
  const std::vector<std::vector<std::int32_t>> expected = {{0, 0, 0, 0},   {1, 0, 0, 0},  {1, 0, 1, 0},
                                                           {1, 0, 2, 0},   {2, 0, 0, 12}, {2, 0, 1, 12},
                                                           {2, 16, 0, 44}, {2, 16, 1, 44}};
  EXPECT_EQ(listed(plan.split()), expected);
  EXPECT_TRUE(plan.chunks().empty());
  EXPECT_EQ(plan.partial_rows(), 52);
}

TEST(attention_plan, computes_many_queries_in_chunks) {
  attention_plan plan(4, 1000, 100);
  plan.add(0, 16, 16);  // 64 pairs are few
  plan.add(1, 17, 1000);
  plan.add(2, 33, 33);
  EXPECT_EQ(plan.split().size(), 4U);
  const std::vector<std::vector<std::int32_t>> expected = {
      {1, 0, 0, 0}, {1, 64, 0, 0}, {2, 0, 0, 0}, {2, 64, 0, 0}, {2, 128, 0, 0}};
  EXPECT_EQ(listed(plan.chunks()), expected);
}

// Pairs of a row stand together: the last of 16 belong to the row whose tokens are told.
TEST(attention_plan, tells_where_the_pairs_of_an_item_are_and_what_they_see) {
  attention_plan plan(3, 1000, 100);
  plan.add(0, 1, 40);
  plan.add(1, 7, 50);    // 21 pairs: 16 and 5
  plan.add(2, 30, 130);  // 90 pairs: 64 and 26
  std::vector<std::vector<std::int32_t>> list;
  for (const std::span<const attention_item> items : {plan.split(), plan.chunks()})
    for (const attention_item& each : items)
      list.push_back({each.first_row, each.first_pair, each.pairs, each.context, each.stored});
  const std::vector<std::vector<std::int32_t>> expected = {
      {0, 0, 3, 40, 39}, {1, 0, 16, 49, 43}, {1, 16, 5, 50, 43}, {8, 0, 64, 122, 100}, {8, 64, 26, 130, 100}};
  EXPECT_EQ(list, expected);
}

TEST(attention_plan, splits_a_single_row_of_any_number_of_heads) {
  attention_plan plan(100, 1000, 100);
  plan.add(0, 1, 100);
  EXPECT_EQ(plan.split().size(), 7U);
}

TEST(attention_plan, has_no_more_items_of_a_stretch_than_are_told) {
  for (const std::int32_t group : {1, 3, 4, 16, 17, 63, 64, 65, 100, 128}) {
    for (const std::int32_t rows : {1, 2, 3, 4, 16, 63, 64}) {
      attention_plan plan(group, 1000, 100);
      plan.add(0, rows, 256);
      EXPECT_LE(plan.split().size(), static_cast<std::size_t>(kernels::cuda::most_items_of_a_stretch(group)))
          << rows << " rows of " << group;
    }
  }
}

TEST(attention_plan, does_without_room_that_the_work_space_lacks) {
  attention_plan plan(4, 20, 100);
  plan.add(0, 1, 1024);  // four stretches of four pairs: 16 rows
  plan.add(1, 1, 1024);
  plan.add(2, 1, 200);
  EXPECT_EQ(plan.partial_rows(), 16);
  EXPECT_EQ(plan.split().size(), 5U);
  EXPECT_EQ(listed(plan.chunks()), (std::vector<std::vector<std::int32_t>>{{1, 0, 0, 0}}));
  plan.add(3, 1, 2147483647);  // lengths that would overflow 32 bits times the pairs
  EXPECT_EQ(plan.chunks().size(), 2U);
}

TEST(attention_plan, begins_anew_for_a_step) {
  attention_plan plan(4, 20, 100);
  plan.add(0, 1, 1024);
  plan.add(1, 40, 40);
  plan.clear();
  EXPECT_TRUE(plan.split().empty());
  EXPECT_TRUE(plan.chunks().empty());
  EXPECT_EQ(plan.partial_rows(), 0);
  plan.add(0, 1, 1024);
  EXPECT_EQ(plan.split().size(), 4U);
}

}  // namespace
}  // namespace troupe
