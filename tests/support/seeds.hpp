// Which seeds a simulation runs.
#pragma once
#include <cstdint>

namespace troupe::test {

struct seed_range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// `count` seeds (repeated(), paths.hpp). TROUPE_SIMULATION_SEED=N replays one, TROUPE_SIMULATION_SEEDS=M runs
// the first M.
seed_range seeds_to_run(std::uint64_t count);

}  // namespace troupe::test
