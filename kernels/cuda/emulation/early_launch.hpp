// Kernels that begin before the one ahead of them has ended (kernels/cuda/early_launch.cuh). Here each runs
// when that has ended; what would be a race on a device is reported.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/emulation/access.hpp"

namespace troupe::kernels::cuda {

void wait_for_earlier_kernels();
inline void let_later_kernels_begin() {}
inline void prefetch_line(const void*) {}

namespace emulation {

// The next launch's number is `launch`: it begins early, or when all before it have ended.
void begin_early_launch(bool is_early, std::uint32_t launch);
// All that was launched has ended.
void settle_launches();
// False where a kernel began early and nobody waited; that is reported.
bool end_early_launch();

// Stops the running kernel where its thread has not waited yet and writes, or reads what launch number
// `writer` (0: none) wrote that may still run.
void check_early_access(access kind, std::uint32_t writer);

// Stops a kernel that began early and reads by __ldg what a kernel wrote that may have run beside it, though
// it waited: the cache for what is read only need not have seen that. Called by __ldg.
void check_read_only_load(const void* memory, std::size_t bytes);

}  // namespace emulation
}  // namespace troupe::kernels::cuda
