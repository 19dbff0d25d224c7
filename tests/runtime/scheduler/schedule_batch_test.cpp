#include "runtime/scheduler/schedule_batch.hpp"

#include <gtest/gtest.h>

#include <array>

namespace troupe {
namespace {

class schedule_batches : public testing::Test {
 protected:
  planned_rows rows_of(std::size_t which, std::int32_t num_rows) {
    planned_rows rows;
    rows.who = &sequences_.at(which);
    rows.num_rows = num_rows;
    return rows;
  }
  // Rows of each part, in order.
  static std::vector<std::int32_t> told(const schedule_batch& batch) {
    std::vector<std::int32_t> rows;
    for (const planned_rows& each : batch) rows.push_back(each.num_rows);
    return rows;
  }

  std::array<sequence, 4> sequences_;
};

TEST_F(schedule_batches, merge_into_one_in_order_and_leave_the_other_empty) {
  schedule_batch decodes;
  schedule_batch prompts;
  decodes.push(rows_of(0, 1));
  decodes.push(rows_of(1, 2));
  prompts.push(rows_of(2, 30));
  decodes.merge(prompts);
  EXPECT_EQ(told(decodes), (std::vector<std::int32_t>{1, 2, 30}));
  EXPECT_EQ(decodes[2].who, &sequences_[2]) << "with all that its sequence carries";
  EXPECT_TRUE(prompts.empty());
  decodes.merge(prompts);
  EXPECT_EQ(decodes.size(), 3U) << "nothing comes of an empty one";
}

TEST_F(schedule_batches, keep_the_unfinished_in_order) {
  schedule_batch batch;
  for (std::size_t i = 0; i < 4; ++i) batch.push(rows_of(i, static_cast<std::int32_t>(i) + 1));
  sequences_[0].ended = sequences_[2].ended = true;
  batch.filter_unfinished();
  EXPECT_EQ(told(batch), (std::vector<std::int32_t>{2, 4}));
  sequences_[1].ended = sequences_[3].ended = true;
  batch.filter_unfinished();
  EXPECT_TRUE(batch.empty());
}

TEST_F(schedule_batches, drop_drafts_from_the_end_and_never_a_certain_row) {
  planned_rows rows = rows_of(0, 5);
  rows.num_drafts = 3;
  rows.keep_drafts(7);
  EXPECT_EQ(rows.num_rows, 5);
  rows.keep_drafts(1);
  EXPECT_EQ(rows.num_rows, 3);
  EXPECT_EQ(rows.num_drafts, 1);
  rows.keep_drafts(-1);
  EXPECT_EQ(rows.num_rows, 2);
  EXPECT_EQ(rows.num_certain(), 2);
}

}  // namespace
}  // namespace troupe
