// Products of up to 64 rows on the tensor cores; few_row_product.hpp says what they are.
#pragma once
#include "kernels/cuda/products/few_row_product.hpp"

namespace troupe::kernels::cuda {

// Whether inputs are whole runs of what a warp multiplies at a time, and where rows are normed so many of
// them have room in a block's shared memory.
bool can_multiply_row_tiles(std::int32_t rows, std::int32_t inputs, bool is_normed);

// A block computes 8, 16 or 32 outputs of 16, 32 or 64 rows, its warps a part of the inputs each, whose sums
// are added in order: a row's bits depend neither on the rows beside it nor on how many outputs a block has.
//
// For small matrices what bounds it are launches, and the rows, which each block reads from the L2 cache: so
// it has more outputs where there are enough blocks all the same. Weights are on the way before the rows are
// there.
void multiply_row_tiles(const few_row_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
