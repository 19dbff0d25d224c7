// What decode graphs take of the device beside the KV cache.
#pragma once
#include <cstddef>
#include <functional>

#include "runtime/executor_cuda/decode_graphs.hpp"

namespace troupe {

// In bytes, of all sizes: captures the two largest by `capture`, which runs such a step, and takes it that
// each of the others takes as much as the second (the first takes what all need once). Less where these
// cannot be captured. Nothing captured is left.
std::size_t measure_graph_memory(decode_graphs& graphs,
                                 const std::function<void(const decode_graph_size&)>& capture);

}  // namespace troupe
