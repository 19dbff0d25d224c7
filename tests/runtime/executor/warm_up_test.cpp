#include "runtime/executor/warm_up.hpp"

#include <gtest/gtest.h>

#include <set>

namespace troupe {
namespace {

const executor_limits limits{.max_rows = 64, .max_sequences = 6, .max_model_len = 40};

void expect_well_formed(const step_batch& batch, const kv_layout& layout, const executor_limits& allowed) {
  EXPECT_LE(batch.num_rows(), allowed.max_rows);
  EXPECT_LE(static_cast<std::int32_t>(batch.sequences.size()), allowed.max_sequences);
  EXPECT_EQ(batch.samples.size(), batch.sequences.size());
  std::set<std::int32_t> slots(batch.slots.begin(), batch.slots.end());
  EXPECT_EQ(slots.size(), batch.slots.size());
  for (const std::int32_t block : batch.block_tables) EXPECT_LT(block, layout.num_blocks);
  for (const sequence_rows& rows : batch.sequences)
    for (std::int32_t row = rows.first_row; row < rows.first_row + rows.num_rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      const std::int32_t position = batch.positions[at];
      EXPECT_LT(position, allowed.max_model_len);
      ASSERT_LT(position / layout.block_size, rows.table_length);
      const std::int32_t block =
          batch.block_tables[static_cast<std::size_t>(rows.table_offset + position / layout.block_size)];
      EXPECT_EQ(batch.slots[at], block * layout.block_size + position % layout.block_size);
    }
}

TEST(WarmUp, IsOnePrefillAndADecodeOfEveryPowerOfTwoAndTheLargestBatch) {
  const kv_layout layout{16, 100, 1};
  const auto items = warm_up_items(layout, limits, 50);
  std::vector<std::string> names;
  for (const warm_up_item& item : items) {
    names.push_back(item.name);
    expect_well_formed(*item.batch, layout, limits);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"prefill, 64 tokens", "decode, batch 1", "decode, batch 2",
                                             "decode, batch 4", "decode, batch 6"}));
}

TEST(WarmUp, StaysWithinAPoolThatIsTooSmallForTheLargestStep) {
  const kv_layout layout{16, 3, 1};
  const auto items = warm_up_items(layout, limits, 50);
  ASSERT_EQ(items.size(), 4U);  // prefill, decodes of 1, 2 and 3
  for (const warm_up_item& item : items) expect_well_formed(*item.batch, layout, limits);
  EXPECT_EQ(items[0].batch->num_rows(), 40);  // one sequence of max_model_len holds all three blocks
  EXPECT_EQ(items[3].batch->num_rows(), 3);
}

TEST(WarmUp, HasNothingToDoWithoutBlocks) { EXPECT_TRUE(warm_up_items({16, 0, 1}, limits, 50).empty()); }

}  // namespace
}  // namespace troupe
