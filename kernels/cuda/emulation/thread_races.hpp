// Accesses of device memory by several threads of one block. What other blocks do is block_races.hpp's.
#pragma once
#include <cstddef>

#include "kernels/cuda/emulation/access.hpp"

namespace troupe::kernels::cuda::emulation {

// Stops the kernel where the running thread reads or writes what another thread of its block wrote since the
// last barrier, or writes what another read, in the device memory that begins `place` bytes into its range.
// Atomic operations and relaxed stores meet each other alone. Two neighbouring bytes are one place
// (recorded_together): kernels store what is smaller as pairs.
void check_between_threads(std::size_t place, std::size_t bytes, access kind);

}  // namespace troupe::kernels::cuda::emulation
