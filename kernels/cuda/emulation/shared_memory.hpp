// A block's shared memory: where its arrays lie, who wrote what since which barrier.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/emulation/access.hpp"

namespace troupe::kernels::cuda::emulation {

inline constexpr std::size_t shared_memory_bytes = std::size_t{227}
                                                   << 10;  // what a block of an H100 may have

// The arrays of a kernel: dynamic memory first, static arrays as they are met, unused bytes between them. All
// of them together hold `most` bytes.
void begin_kernel_shared_memory(std::size_t dynamic_bytes, std::size_t most);
void begin_block_shared_memory();

void* dynamic_shared_memory();
void* shared_memory(const void* key, std::size_t bytes);

// Whether `address` lies in shared memory, arrays or not.
bool is_shared_memory(std::uintptr_t address);

// Checks and records an access by the running thread; stops the kernel where it is wrong.
void check_shared_access(std::uintptr_t address, std::size_t bytes, access kind);

}  // namespace troupe::kernels::cuda::emulation
