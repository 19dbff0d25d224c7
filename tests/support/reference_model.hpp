// The oracle for executors: a forward pass over a whole sequence by plain loops over dequantised weights. No
// batch, no cache, no packing; sums in double, values in float. Shares no code with the executors.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/model.hpp"
#include "runtime/request.hpp"

namespace troupe::test {

// Logits [positions][vocab] after each token of `tokens`, which starts at position 0. With `last_only`, one
// row: that after the last token.
std::vector<std::vector<float>> reference_logits(const model& model, std::span<const token_id> tokens,
                                                 bool last_only = false);

}  // namespace troupe::test
