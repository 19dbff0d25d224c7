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

}  // namespace troupe
