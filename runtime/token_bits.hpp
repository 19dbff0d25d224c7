// Sets of tokens as words: bit t % 32 of word t / 32 stands for token t.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/request.hpp"

namespace troupe {

// False for a token past the words.
inline bool has_token(std::span<const std::uint32_t> words, token_id token) {
  const auto t = static_cast<std::size_t>(token);
  return t / 32 < words.size() && (words[t / 32] >> (t % 32) & 1U) != 0;
}
// The token must lie within the words.
inline void add_token(std::span<std::uint32_t> words, token_id token) {
  const auto t = static_cast<std::size_t>(token);
  words[t / 32] |= std::uint32_t{1} << (t % 32);
}
inline void remove_token(std::span<std::uint32_t> words, token_id token) {
  const auto t = static_cast<std::size_t>(token);
  words[t / 32] &= ~(std::uint32_t{1} << (t % 32));
}
// Leaves no other.
inline void allow_only(std::span<std::uint32_t> words, token_id token) {
  std::ranges::fill(words, 0);
  add_token(words, token);
}

}  // namespace troupe
