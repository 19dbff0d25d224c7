// Which decode steps a device captures as graphs, where it does.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/bucketing/bucket.hpp"

namespace troupe {

// For each of these numbers of rows, up to the first that holds `most`, the most sequences of a decode: one
// with block tables of up to 256 entries (each costs transfer time in every step), and one with max_blocks.
// Ascending, each once.
std::vector<bucket> graph_shapes(std::span<const std::int32_t> rows, std::int32_t most,
                                 std::int32_t max_blocks);

}  // namespace troupe
