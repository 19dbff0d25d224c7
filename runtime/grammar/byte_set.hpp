// A set of bytes.
#pragma once
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace troupe::grammar {

struct byte_set {
  std::array<std::uint64_t, 4> words{};

  static constexpr byte_set all() {
    return byte_set{{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}}};
  }
  // Both ends included.
  static constexpr byte_set range(unsigned first, unsigned last) {
    byte_set set;
    for (unsigned byte = first; byte <= last; ++byte) set.insert(static_cast<unsigned char>(byte));
    return set;
  }
  static constexpr byte_set of(unsigned char byte) { return range(byte, byte); }

  constexpr void insert(unsigned char byte) { words[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
  constexpr bool contains(unsigned char byte) const { return (words[byte >> 6] >> (byte & 63)) & 1; }
  constexpr bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  constexpr int size() const {
    return std::popcount(words[0]) + std::popcount(words[1]) + std::popcount(words[2]) +
           std::popcount(words[3]);
  }
  // Calls visit(byte) in ascending order.
  template <class F>
  constexpr void for_each(F&& visit) const {
    for (unsigned word = 0; word < 4; ++word)
      for (std::uint64_t left = words[word]; left != 0; left &= left - 1)
        visit(static_cast<unsigned char>(word * 64 + static_cast<unsigned>(std::countr_zero(left))));
  }
  friend constexpr byte_set operator|(byte_set a, const byte_set& b) {
    for (std::size_t i = 0; i < 4; ++i) a.words[i] |= b.words[i];
    return a;
  }
  friend constexpr byte_set operator&(byte_set a, const byte_set& b) {
    for (std::size_t i = 0; i < 4; ++i) a.words[i] &= b.words[i];
    return a;
  }
  friend constexpr byte_set operator~(byte_set a) {
    for (std::uint64_t& word : a.words) word = ~word;
    return a;
  }
  friend constexpr auto operator<=>(const byte_set&, const byte_set&) = default;
};

}  // namespace troupe::grammar
