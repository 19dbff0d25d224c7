// Philox 4x32-10: random numbers as a pure function of (key, counter).
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.
#pragma once
#include <array>
#include <cstdint>

namespace troupe {

// Four random 32-bit words for this counter under this key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// What a random number is for: those of different streams have nothing to do with each other.
enum class random_stream : std::uint32_t {
  draw = 0,      // a token, of the target or of a draft model
  accept = 1,    // whether a draft is accepted
  residual = 2,  // the token in place of a rejected draft
};

// Uniform in [0, 1), a multiple of 2^-53: key = seed, counter = position and stream.
double uniform(std::uint64_t seed, std::uint64_t position, random_stream stream = random_stream::draw);

}  // namespace troupe
