// Accesses of device memory by several blocks of one launch, which a device may run in any order and at once.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/emulation/access.hpp"

namespace troupe::kernels::cuda::emulation {

// The launch's number: 1, 2, ...
std::uint32_t begin_block_races(std::uint64_t blocks);
void enter_block(std::uint64_t block);

// __threadfence by the running thread.
void fence();

// Stops the kernel where the running block reads or writes what another block of this launch wrote, or writes
// what another read, in the device memory that begins `place` bytes into its range. In order is only what the
// other block did before a __threadfence and an atomic operation behind that, for a block that has carried
// out an atomic operation: so the last block to arrive may finish what the others began.
void check_between_blocks(std::size_t place, std::size_t bytes, access kind);

// The last launch that wrote any of these bytes; 0: none.
std::uint32_t last_writer(std::size_t place, std::size_t bytes);

}  // namespace troupe::kernels::cuda::emulation
