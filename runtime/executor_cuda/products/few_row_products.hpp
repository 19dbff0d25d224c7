// How a decoder's products are computed: by the library, or by kernels/cuda/products/few_row_product.hpp.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/products/few_row_product.hpp"

namespace troupe {

enum class few_row_products : std::uint8_t {
  never,
  measured,       // where that was faster than the library's product with the kernels beside it
  measured_once,  // the same by a single round: for tests
  always,         // wherever there is room: for tests
};

// Of one product, with the norm before it where it has one.
struct product_way {
  bool is_own = false;  // else by gemm.hpp, behind a norm
  // In one launch with the norm; else behind it, where norming the rows in every block takes longer than a
  // launch.
  bool norms = false;
  kernels::cuda::few_row_variant variant = {};

  friend bool operator==(const product_way&, const product_way&) = default;
};

// For 1, 2, 3 to 4, 5 to 8, ... rows each, up to max_few_rows; the library's beyond them.
class few_row_ways {
 public:
  product_way of(std::int32_t rows) const {
    return rows < 1 || rows > kernels::cuda::max_few_rows ? product_way{} : ways_.at(range_of(rows));
  }
  // Of the range that `rows` is in.
  void set(std::int32_t rows, product_way way) { ways_.at(range_of(rows)) = way; }

 private:
  static std::size_t range_of(std::int32_t rows) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(rows) - 1));
  }

  std::array<product_way, std::bit_width(static_cast<std::uint32_t>(kernels::cuda::max_few_rows))> ways_ = {};
};

// Of each product of a layer, and of the logits.
struct few_row_choices {
  few_row_ways qkv;
  few_row_ways output;
  few_row_ways gate_up;
  few_row_ways down;
  few_row_ways head;
};

}  // namespace troupe
