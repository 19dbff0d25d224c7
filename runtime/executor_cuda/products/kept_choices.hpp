// How products are computed, as an executor has found by measuring: for the one that takes its place, which
// then computes the same bits and need not measure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/executor_cuda/products/few_row_products.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"

namespace troupe {

struct kept_choices {
  std::string measured_with;  // device and library: elsewhere they mean nothing
  few_row_choices few_rows;
  std::vector<gemm_choice> products;
};

// For programs of this build alone.
std::string to_bytes(const kept_choices& choices);
// Nothing where that is no such string.
std::optional<kept_choices> read_kept_choices(std::string_view bytes);

}  // namespace troupe
