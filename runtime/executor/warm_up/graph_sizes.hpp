// Which decode steps a device captures as graphs, where it does.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// Of these numbers of rows those up to the first that holds `most`, the most sequences of a decode.
// Ascending, each once. A graph takes contexts of any length.
std::vector<std::int32_t> graph_sizes(std::span<const std::int32_t> rows, std::int32_t most);

}  // namespace troupe
