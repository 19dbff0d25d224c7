#include "runtime/tokenizer/merge_table.hpp"

#include <bit>

namespace troupe {
namespace {

std::uint64_t pair_of(token_id left, token_id right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
}

}  // namespace

merge_table::merge_table(std::size_t capacity) : slots_(std::bit_ceil(2 * capacity + 2)) {}

std::size_t merge_table::slot_of(std::uint64_t pair) const {
  // Fibonacci hashing; the high bits are the well mixed ones.
  auto at = static_cast<std::size_t>((pair ^ pair >> 29U) * 0x9E3779B97F4A7C15U >> 20U) & (slots_.size() - 1);
  while (slots_[at].pair != empty && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void merge_table::add(token_id left, token_id right, token_id merged) {
  const auto pair = pair_of(left, right);
  auto& place = slots_[slot_of(pair)];
  if (place.pair == empty) place = {pair, {next_rank_, merged}};
  ++next_rank_;
}

merge_candidate merge_table::find(token_id left, token_id right) const {
  return slots_[slot_of(pair_of(left, right))].merge;
}

}  // namespace troupe
