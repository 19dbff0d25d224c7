#include "runtime/step_masks.hpp"

#include <bit>

namespace troupe {

token_id next_allowed(std::span<const std::uint32_t> mask, token_id from) {
  const std::size_t words = mask.size();
  const auto first = static_cast<std::size_t>(from);
  // The first word once from the bit on, and once more as a whole at the end.
  for (std::size_t i = 0; i <= words && words > 0; ++i) {
    const std::size_t at = (first / 32 + i) % words;
    const std::uint32_t word = i == 0 ? mask[at] & (~std::uint32_t{0} << (first % 32)) : mask[at];
    if (word != 0) return static_cast<token_id>(at * 32) + std::countr_zero(word);
  }
  return from;
}

}  // namespace troupe
