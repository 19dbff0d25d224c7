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

// Each token has the place that its position gives it. The older ones are in a vector of the owner's, who
// also counts them all.
class newest_tokens {
 public:
  // Behind the first `size`, which are all that there are.
  void add(token_id token, std::int32_t size, std::pmr::vector<token_id>& older) {
    if (is_full(size)) move_to(older, size);
    tokens_[place_of(size)] = token;
  }
  // Whether an add() behind so many moves tokens.
  static bool is_full(std::int32_t size) { return place_of(size) == 0; }
  // The token at a position behind the older ones.
  token_id operator[](std::int32_t position) const { return tokens_[place_of(position)]; }
  // Completes the first `size`, which are all that there are.
  void move_to(std::pmr::vector<token_id>& older, std::int32_t size) const {
    const token_id* from = tokens_.data() + older.size() % tokens_.size();
    older.insert(older.end(), from, from + (static_cast<std::size_t>(size) - older.size()));
  }

 private:
  static constexpr std::size_t most = 16;
  static std::size_t place_of(std::int32_t position) { return static_cast<std::size_t>(position) % most; }

  std::array<token_id, most> tokens_{};
};
static_assert(sizeof(newest_tokens) == 64);

}  // namespace troupe
