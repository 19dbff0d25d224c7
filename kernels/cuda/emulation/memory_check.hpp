// Checks of a kernel's loads and stores (memory_check.cpp), for operations of the emulation that stand for
// one.
#pragma once
#include <cstddef>

#include "kernels/cuda/emulation/access.hpp"

namespace troupe::kernels::cuda::emulation {

// Stops the kernel where the running thread may not access these bytes so. Does nothing outside kernels.
void check_access(const void* memory, std::size_t bytes, access kind, std::size_t alignment);

}  // namespace troupe::kernels::cuda::emulation
