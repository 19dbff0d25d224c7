#include "runtime/executor_cuda/step/graph_memory.hpp"

#include <algorithm>

#include "runtime/executor_cuda/device/device_memory.hpp"

namespace troupe {

// One by one would say less: a driver gives graphs their memory in larger pieces, and the first steps load
// kernels, which stay. What somebody else gives back meanwhile is no graph's.
std::size_t measure_graph_memory(decode_graphs& graphs,
                                 const std::function<void(std::int32_t rows)>& capture) {
  constexpr std::size_t most_captured = 16;
  constexpr std::size_t most_of_one = std::size_t{64}
                                      << 20U;  // bytes; some hundred launches take a few of these
  const std::vector<std::int32_t>& sizes = graphs.all_sizes();
  if (sizes.empty()) return 0;
  const std::size_t captured = std::min(most_captured, sizes.size());
  for (std::size_t i = 0; i < captured; ++i) capture(sizes[sizes.size() - 1 - i]);
  const std::size_t with_graphs = ask_device_memory().free;
  graphs.clear();
  const std::size_t without = ask_device_memory().free;
  const std::size_t taken = std::min(without - std::min(without, with_graphs), captured * most_of_one);
  return taken * sizes.size() / captured;
}

}  // namespace troupe
