// How a matrix product is cut into work items: so many rows of activations times so many panels of weights.
// What an item reads comes from afar, so of the cuts that leave nobody busier (by more than 3 %) than ranges
// of panels for all rows would, the one whose items read the least is taken.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe {

// What there is to cut, and for whom.
struct product_work {
  std::int32_t rows;    // at least 1
  std::int32_t panels;  // at least 1
  std::size_t row_bytes;
  std::size_t panel_bytes;  // of all matrices that an item multiplies with
  std::int32_t members;
  std::int32_t items_per_member;
};

struct product_item {
  std::int32_t first_row;  // a multiple of kernels::row_block
  std::int32_t last_row;
  std::int32_t first_panel;
  std::int32_t last_panel;
};

class product_grid {
 public:
  explicit product_grid(const product_work& work);

  std::int64_t items() const { return std::int64_t{cut_.bands} * cut_.across; }
  // Every row meets every panel in one of the items; those of the same rows are behind each other.
  product_item item(std::int64_t index) const;

 private:
  struct cut {
    std::int32_t rows_at_once;
    std::int32_t panels_at_once;
    std::int32_t bands;   // items along the rows
    std::int32_t across;  // along the panels
  };
  static cut cut_into(const product_work& work, std::int32_t bands);

  std::int32_t rows_;
  std::int32_t panels_;
  cut cut_;
};

}  // namespace troupe
