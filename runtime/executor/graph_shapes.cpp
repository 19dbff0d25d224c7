#include "runtime/executor/graph_shapes.hpp"

#include <algorithm>

namespace troupe {

std::vector<bucket> graph_shapes(std::span<const std::int32_t> rows, std::int32_t most,
                                 std::int32_t max_blocks) {
  constexpr std::int32_t usual_blocks = 256;
  std::vector<std::int32_t> batches(rows.begin(), rows.end());
  std::erase_if(batches, [](std::int32_t each) { return each < 1; });
  std::ranges::sort(batches);
  batches.erase(std::ranges::unique(batches).begin(), batches.end());
  const auto last = std::ranges::lower_bound(batches, most);
  if (last != batches.end()) batches.erase(last + 1, batches.end());
  std::vector<bucket> shapes;
  for (const std::int32_t batch : batches) {
    shapes.push_back({batch, 1, std::min(max_blocks, usual_blocks)});
    if (max_blocks > usual_blocks) shapes.push_back({batch, 1, max_blocks});
  }
  return shapes;
}

std::vector<bucket> graphs_without_a_step(std::span<const bucket> graphs, std::span<const bucket> steps) {
  std::vector<bool> runs(graphs.size(), false);
  for (const bucket& step : steps) {
    const auto holds = [&](const bucket& graph) {
      return graph.batch >= step.batch && graph.blocks >= step.blocks;
    };
    const auto found = std::ranges::find_if(graphs, holds);
    if (found != graphs.end()) runs[static_cast<std::size_t>(found - graphs.begin())] = true;
  }
  std::vector<bucket> left;
  for (std::size_t i = 0; i < graphs.size(); ++i)
    if (!runs[i]) left.push_back(graphs[i]);
  return left;
}

}  // namespace troupe
