#include "runtime/executor/warm_up/graph_sizes.hpp"

#include <algorithm>

namespace troupe {

std::vector<std::int32_t> graph_sizes(std::span<const std::int32_t> rows, std::int32_t most) {
  std::vector<std::int32_t> sizes(rows.begin(), rows.end());
  std::erase_if(sizes, [](std::int32_t each) { return each < 1; });
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  const auto last = std::ranges::lower_bound(sizes, most);
  if (last != sizes.end()) sizes.erase(last + 1, sizes.end());
  return sizes;
}

}  // namespace troupe
