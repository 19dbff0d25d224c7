// Philox 4x32-10: random numbers as a pure function of (key, counter).
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.
#pragma once
#include <array>
#include <cstdint>

namespace troupe {

// Four random 32-bit words for this counter under this key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// Uniform in [0, 1): key = seed, counter = position.
double uniform(std::uint64_t seed, std::uint64_t position);

}  // namespace troupe
