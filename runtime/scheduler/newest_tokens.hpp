// The newest tokens of a sequence, in a cache line beside what else a step reads of it: adding one touches no
// other memory, until the line is full. That is as often as a block of so many tokens is.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Each token has the place that its position gives it. The older ones, from position `begin` on, are in a
// vector of the owner's, who also counts all that there are.
class newest_tokens {
 public:
  // Behind all others, which end at position `end`.
  void add(token_id token, std::pmr::vector<token_id>& older, std::int32_t begin, std::int32_t end) {
    if (is_full(end)) move_to(older, begin, end);
    tokens_[place_of(end)] = token;
  }
  // Whether an add() at this position moves tokens.
  static bool is_full(std::int32_t position) { return place_of(position) == 0; }
  // The token at a position behind the older ones.
  token_id operator[](std::int32_t position) const { return tokens_[place_of(position)]; }
  // Completes the older ones up to position `end`, where all that there are end.
  void move_to(std::pmr::vector<token_id>& older, std::int32_t begin, std::int32_t end) const {
    const std::int32_t next = begin + static_cast<std::int32_t>(older.size());
    const token_id* from = tokens_.data() + place_of(next);
    older.insert(older.end(), from, from + (end - next));
  }

 private:
  static constexpr std::size_t most = 16;
  static std::size_t place_of(std::int32_t position) { return static_cast<std::size_t>(position) % most; }

  std::array<token_id, most> tokens_{};
};
static_assert(sizeof(newest_tokens) == 64);

}  // namespace troupe
