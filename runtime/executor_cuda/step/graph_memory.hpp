// What decode graphs take of the device beside the KV cache.
#pragma once
#include <cstddef>
#include <functional>

#include "runtime/executor_cuda/step/decode_graphs.hpp"

namespace troupe {

// In bytes, of all sizes: captures the largest by `capture`, which runs such a step, and gives what comes
// back of the device when they are forgotten; where there are very many sizes, for each of the others as much
// as for these. Less where one cannot be captured. Nothing captured is left.
std::size_t measure_graph_memory(decode_graphs& graphs,
                                 const std::function<void(std::int32_t rows)>& capture);

}  // namespace troupe
