#include "runtime/executor/cpu/product_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/kernel_table.hpp"

namespace troupe {
namespace {

product_work random_work(std::mt19937& random) {
  const auto pick = [&](std::int32_t from, std::int32_t to) {
    return std::uniform_int_distribution<std::int32_t>(from, to)(random);
  };
  return {.rows = pick(0, 1) == 0 ? pick(1, 200) : pick(1, 2000),
          .panels = pick(1, 120),
          .row_bytes = static_cast<std::size_t>(pick(64, 4000)),
          .panel_bytes = static_cast<std::size_t>(pick(64, 100000)),
          .members = pick(1, 64),
          .items_per_member = 1 << pick(0, 3)};
}

std::int64_t busiest(const product_grid& grid, std::int32_t members) {
  const product_item first = grid.item(0);
  const std::int64_t each =
      std::int64_t{first.last_row - first.first_row} * (first.last_panel - first.first_panel);
  return ((grid.items() - 1) / members + 1) * each;
}

std::size_t read_by_one(const product_grid& grid, const product_work& work) {
  const product_item first = grid.item(0);
  return static_cast<std::size_t>(first.last_row - first.first_row) * work.row_bytes +
         static_cast<std::size_t>(first.last_panel - first.first_panel) * work.panel_bytes;
}

// Ranges of panels for all rows: a single row cannot be split.
product_grid panels_alone(product_work work) {
  work.rows = 1;
  return product_grid(work);
}

TEST(product_grid, every_row_meets_every_panel_once) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const product_work work = random_work(random);
    const product_grid grid(work);
    std::vector<int> met(static_cast<std::size_t>(work.rows) * static_cast<std::size_t>(work.panels));
    for (std::int64_t index = 0; index < grid.items(); ++index) {
      const product_item item = grid.item(index);
      ASSERT_EQ(item.first_row % kernels::row_block, 0);
      ASSERT_LT(item.first_row, item.last_row);
      ASSERT_LT(item.first_panel, item.last_panel);
      ASSERT_LE(item.last_row, work.rows);
      ASSERT_LE(item.last_panel, work.panels);
      for (std::int32_t row = item.first_row; row < item.last_row; ++row)
        for (std::int32_t panel = item.first_panel; panel < item.last_panel; ++panel)
          ++met[static_cast<std::size_t>(row * work.panels + panel)];
    }
    ASSERT_TRUE(std::ranges::all_of(met, [](int times) { return times == 1; }))
        << work.rows << " rows, " << work.panels << " panels";
  }
}

TEST(product_grid, nobody_is_much_busier_and_no_item_reads_more_than_with_ranges_of_panels) {
  std::mt19937 random(2);
  int split = 0;
  for (int i = 0; i < 5000; ++i) {
    const product_work work = random_work(random);
    const product_grid grid(work);
    const product_item of_panels = panels_alone(work).item(0);
    const std::int64_t items = panels_alone(work).items();
    const std::int64_t most = ((items - 1) / work.members + 1) * work.rows * of_panels.last_panel;
    EXPECT_LE(static_cast<double>(busiest(grid, work.members)), 1.03 * static_cast<double>(most))
        << work.rows << " rows, " << work.panels << " panels";
    EXPECT_LE(read_by_one(grid, work), static_cast<std::size_t>(work.rows) * work.row_bytes +
                                           static_cast<std::size_t>(of_panels.last_panel) * work.panel_bytes);
    split += grid.item(0).last_row < work.rows ? 1 : 0;
  }
  EXPECT_GT(split, 100);
}

TEST(product_grid, rows_are_split_where_they_are_much_and_panels_little) {
  // "down" of SmolLM2-135M for 512 rows of a prompt and two threads.
  const product_work prompt{.rows = 512,
                            .panels = 36,
                            .row_bytes = 3072,
                            .panel_bytes = 15360,
                            .members = 2,
                            .items_per_member = 4};
  EXPECT_EQ(product_grid(prompt).item(0).last_row, 128);
  EXPECT_EQ(product_grid(prompt).items(), 8);
  product_work beside_answers = prompt;
  beside_answers.rows = 509;
  EXPECT_EQ(product_grid(beside_answers).items(), 8);
  product_work few = prompt;
  few.rows = 32;
  EXPECT_EQ(product_grid(few).item(0).last_row, 32);
  EXPECT_EQ(product_grid(few).items(), 9);
  product_work heavy = prompt;
  heavy.panel_bytes = 1 << 20;
  EXPECT_EQ(product_grid(heavy).item(0).last_row, 512);
}

}  // namespace
}  // namespace troupe
