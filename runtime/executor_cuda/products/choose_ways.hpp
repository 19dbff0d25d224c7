// Which ways of computing a decoder's products are the fastest together.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/executor_cuda/products/few_row_products.hpp"

namespace troupe {

// A product, and the ways that can compute it: the one that is tried first, then others, the library's among
// them.
struct product_candidates {
  few_row_ways* product = nullptr;
  std::vector<product_way> ways;
};

// Sets the ways of the range that `rows` is in by what `time` then says of all products together: of one
// product after the other the way that is faster by a hundredth at least, or the library's for all where that
// is faster still.
void choose_ways(std::span<const product_candidates> products, std::int32_t rows,
                 const std::function<float()>& time);

}  // namespace troupe
