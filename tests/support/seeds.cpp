#include "tests/support/seeds.hpp"

#include <cstdlib>

#include "tests/support/paths.hpp"

namespace troupe::test {

seed_range seeds_to_run(std::uint64_t count) {
  if (const char* seed = std::getenv("TROUPE_SIMULATION_SEED")) return {std::strtoull(seed, nullptr, 10), 1};
  if (const char* seeds = std::getenv("TROUPE_SIMULATION_SEEDS"))
    return {0, std::strtoull(seeds, nullptr, 10)};
  return {0, repeated(count)};
}

}  // namespace troupe::test
