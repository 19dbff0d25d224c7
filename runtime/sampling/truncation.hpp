// Top-k and top-p without sorting: the threshold is found by three rounds of a histogram over the bits of the
// values (a radix selection from the top), at most one pass over the vocabulary each; for a small k, over the
// few blocks of the vocabulary that can hold one of the k greatest.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// The k greatest logits; of those equal to the k-th greatest, the lowest ids. `ids` ascending, `kept` their
// logits. k >= 1. NaN counts as less than everything. `keys` is work space.
void select_top_k(std::span<const float> logits, std::size_t k, std::vector<token_id>& ids,
                  std::vector<float>& kept, std::vector<std::uint32_t>& keys);

// In the order of descending weight, equal weights by ascending index, keeps the shortest prefix whose sum
// reaches top_p times the sum of all, and sets the other weights to 0. 0 < top_p <= 1; the weights are those
// of weigh(). `room` and `keys` are work space.
void keep_top_p(std::span<float> weights, double top_p, std::vector<float>& room,
                std::vector<std::uint32_t>& keys);

}  // namespace troupe
