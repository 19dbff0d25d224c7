// A hash of numbers for tables that hold each equal thing once.
#pragma once
#include <cstdint>

namespace troupe::grammar {

// Multiplication and xor-shift as in MurmurHash3's 64-bit finalizer.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15U + (hash << 6) + (hash >> 2);
  hash *= 0xFF51AFD7ED558CCDU;
  return hash ^ (hash >> 33);
}

}  // namespace troupe::grammar
