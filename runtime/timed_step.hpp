// What a step's time was measured for.
#pragma once
#include <compare>
#include <cstdint>

namespace troupe {

// A step that was timed: so many rows of one sequence, all sampled, behind so many tokens.
struct timed_step {
  static constexpr std::int32_t short_context = 256;

  std::int32_t rows = 0;
  std::int32_t context = short_context;
  bool is_random = false;

  bool is_usual() const { return context == short_context && !is_random; }
  friend auto operator<=>(const timed_step&, const timed_step&) = default;
};

}  // namespace troupe
