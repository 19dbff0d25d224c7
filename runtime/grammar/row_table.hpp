// The next state by state and byte class. Rows never move: growing costs one block, not a copy of them all in
// the midst of somebody's mask.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::grammar {

class row_table {
 public:
  explicit row_table(std::size_t columns) : columns_(columns) {}

  // A row of its own for the next state, all of it `value`.
  void add_row(std::uint32_t value) {
    if (rows_ % rows_of_block == 0)
      blocks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(rows_of_block * columns_));
    std::fill_n(&at(rows_++, 0), columns_, value);
  }
  std::uint32_t& at(std::size_t row, std::size_t column) {
    return blocks_[row / rows_of_block][row % rows_of_block * columns_ + column];
  }
  std::uint32_t at(std::size_t row, std::size_t column) const {
    return blocks_[row / rows_of_block][row % rows_of_block * columns_ + column];
  }
  std::size_t memory_bytes() const {
    return blocks_.size() * (rows_of_block * columns_ * sizeof(std::uint32_t) + sizeof(blocks_[0]));
  }

 private:
  static constexpr std::size_t rows_of_block = 64;
  std::size_t columns_, rows_ = 0;
  std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
};

}  // namespace troupe::grammar
