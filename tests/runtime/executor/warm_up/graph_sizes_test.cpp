#include "runtime/executor/warm_up/graph_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"
#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

TEST(GraphSizes, AreThoseThatAreOfUseAscendingEachOnce) {
  const std::vector<std::int32_t> rows{8, 1, 4, 2, 0, 4};
  EXPECT_EQ(graph_sizes(rows, 3), (std::vector<std::int32_t>{1, 2, 4}));
  EXPECT_EQ(graph_sizes(rows, 4), (std::vector<std::int32_t>{1, 2, 4}));
  EXPECT_EQ(graph_sizes(rows, 100), (std::vector<std::int32_t>{1, 2, 4, 8}));
  EXPECT_TRUE(graph_sizes({}, 4).empty());
}

// As a device does it: a step runs as the smallest graph that holds its sequences.
std::vector<std::int32_t> graphs_run_by(const std::vector<warm_up_item>& items,
                                        const std::vector<std::int32_t>& graphs,
                                        const executor_limits& limits, const kv_layout& layout) {
  std::vector<std::int32_t> run;
  for (const warm_up_item& item : items) {
    if (!item.is_for_graph) continue;
    const device_batch batch = scratch_batch(item, layout, limits, 100);
    EXPECT_EQ(batch.num_rows(), std::ssize(batch.sequences));
    const auto found = std::ranges::lower_bound(graphs, batch.num_rows());
    if (found == graphs.end())
      ADD_FAILURE() << "no graph holds the step of batch " << item.shape.batch;
    else
      run.push_back(*found);
  }
  return run;
}

TEST(GraphSizes, AreEachRunOnceByTheWarmUpTheLargestFirstWhateverTheBuckets) {
  std::mt19937 random(7);
  const auto pick = [&](std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(random);
  };
  for (int round = 0; round < 40; ++round) {
    executor_limits limits{.max_rows = pick(1, 600), .max_sequences = pick(1, 300)};
    limits.block_size = 8 << pick(0, 2);
    limits.max_model_len = pick(64, 20'000);
    const kv_layout layout{limits.block_size, 4000, 1};
    bucketing_options options;
    options.strategy = static_cast<bucketing_strategy>(pick(0, 3));
    const auto plan = make_buckets(
        options, {limits.max_sequences, limits.max_rows, limits.block_size, limits.max_model_len, 4000});
    if (!plan) continue;
    std::vector<std::int32_t> rows{1, 2, 4, 8, 16, 32};
    if (!plan->decode.empty()) rows.clear();
    for (const bucket& each : plan->decode) rows.push_back(each.batch);
    const std::vector<std::int32_t> graphs =
        graph_sizes(rows, std::min(limits.max_sequences, limits.max_rows));
    const auto extent = pick(0, 1) == 0 ? warm_up_extent::every_bucket : warm_up_extent::every_row_count;
    const auto items = warm_up_items(*plan, limits, limits.block_size, extent, {}, graphs);
    EXPECT_EQ(graphs_run_by(items, graphs, limits, layout),
              (std::vector<std::int32_t>{graphs.rbegin(), graphs.rend()}))
        << "round " << round << ", " << limits.max_sequences << " sequences, contexts of "
        << limits.max_model_len;
  }
}

}  // namespace
}  // namespace troupe
