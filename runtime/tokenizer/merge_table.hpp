// Which pairs of tokens a byte-pair encoding joins, and in which order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/tokenizer/greedy_merge.hpp"

namespace troupe {

// An open-addressing hash table: one probe into one array for most of the lookups, of which encoding makes a
// few per byte.
class merge_table {
 public:
  // For at most `capacity` merges.
  explicit merge_table(std::size_t capacity = 0);
  // The rank is the order of adding; of equal pairs the first one counts.
  void add(token_id left, token_id right, token_id merged);
  merge_candidate find(token_id left, token_id right) const;

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  struct slot {
    std::uint64_t pair = empty;
    merge_candidate merge;
  };
  std::size_t slot_of(std::uint64_t pair) const;
  std::vector<slot> slots_;  // [a power of two], at most half full
  std::uint32_t next_rank_ = 0;
};

}  // namespace troupe
