#include "runtime/executor/graph_shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/executor/scratch_batch.hpp"
#include "runtime/executor/warm_up.hpp"
#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

TEST(GraphShapes, HaveShortTablesAndWholeOnesOfEveryBatchThatIsOfUse) {
  const std::vector<std::int32_t> rows{8, 1, 4, 2, 0, 4};
  EXPECT_EQ(
      graph_shapes(rows, 3, 1000),
      (std::vector<bucket>{{1, 1, 256}, {1, 1, 1000}, {2, 1, 256}, {2, 1, 1000}, {4, 1, 256}, {4, 1, 1000}}));
  EXPECT_EQ(graph_shapes(rows, 100, 200),
            (std::vector<bucket>{{1, 1, 200}, {2, 1, 200}, {4, 1, 200}, {8, 1, 200}}));
  EXPECT_TRUE(graph_shapes({}, 4, 100).empty());
}

// As a device does it: a step runs as the smallest graph that holds its sequences and tables.
std::vector<bucket> graphs_run_by(const std::vector<warm_up_item>& items, const std::vector<bucket>& graphs,
                                  const executor_limits& limits, const kv_layout& layout) {
  std::vector<bucket> run;
  for (const warm_up_item& item : items) {
    if (!item.is_for_graph) continue;
    const device_batch batch = scratch_batch(item, layout, limits, 100);
    bucket step{static_cast<std::int32_t>(batch.sequences.size()), 1, 0};
    for (const sequence_rows& each : batch.sequences) step.blocks = std::max(step.blocks, each.table_length);
    EXPECT_EQ(batch.num_rows(), step.batch);
    const auto holds = [&](const bucket& graph) {
      return graph.batch >= step.batch && graph.blocks >= step.blocks;
    };
    const auto found = std::ranges::find_if(graphs, holds);
    if (found == graphs.end())
      ADD_FAILURE() << "no graph holds the step of batch " << item.shape.batch;
    else
      run.push_back(*found);
  }
  return run;
}

TEST(GraphShapes, AreEachRunOnceByTheWarmUpTheLargestFirstWhateverTheBuckets) {
  std::mt19937 random(7);
  const auto pick = [&](std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(random);
  };
  for (int round = 0; round < 40; ++round) {
    executor_limits limits{.max_rows = pick(1, 600), .max_sequences = pick(1, 300)};
    limits.block_size = 8 << pick(0, 2);
    limits.max_model_len = pick(64, 20'000);
    const kv_layout layout{limits.block_size, 4000, 1};
    const std::int32_t blocks = (limits.max_model_len + limits.block_size - 1) / limits.block_size;
    bucketing_options options;
    options.strategy = static_cast<bucketing_strategy>(pick(0, 3));
    const auto plan = make_buckets(
        options, {limits.max_sequences, limits.max_rows, limits.block_size, limits.max_model_len, 4000});
    if (!plan) continue;
    std::vector<std::int32_t> rows{1, 2, 4, 8, 16, 32};
    if (!plan->decode.empty()) rows.clear();
    for (const bucket& each : plan->decode) rows.push_back(each.batch);
    const std::vector<bucket> graphs =
        graph_shapes(rows, std::min(limits.max_sequences, limits.max_rows), blocks);
    const auto extent = pick(0, 1) == 0 ? warm_up_extent::every_bucket : warm_up_extent::every_row_count;
    const auto items = warm_up_items(*plan, limits, limits.block_size, extent, {}, graphs);
    EXPECT_EQ(graphs_run_by(items, graphs, limits, layout),
              (std::vector<bucket>{graphs.rbegin(), graphs.rend()}))
        << "round " << round << ", " << limits.max_sequences << " sequences, contexts of "
        << limits.max_model_len;
  }
}

}  // namespace
}  // namespace troupe
