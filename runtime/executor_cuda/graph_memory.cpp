#include "runtime/executor_cuda/graph_memory.hpp"

#include <algorithm>

#include "runtime/executor_cuda/device_memory.hpp"

namespace troupe {

std::size_t measure_graph_memory(decode_graphs& graphs,
                                 const std::function<void(const decode_graph_size&)>& capture) {
  constexpr std::size_t most_captured = 2;
  const std::vector<decode_graph_size>& sizes = graphs.all_sizes();
  const std::size_t captured = std::min(most_captured, sizes.size());
  std::size_t all = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < captured; ++i) {
    const std::size_t before = ask_device_memory().free;
    capture(sizes[sizes.size() - 1 - i]);
    last = before - std::min(before, ask_device_memory().free);
    all += last;
  }
  graphs.clear();
  return all + last * (sizes.size() - captured);
}

}  // namespace troupe
