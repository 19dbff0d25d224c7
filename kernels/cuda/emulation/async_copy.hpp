// What cp.async does (kernels/cuda/copy_async.cuh), for the running thread.
#pragma once

namespace troupe::kernels::cuda::emulation {

// Takes place when the thread waits; until then the 16 bytes at `shared` are poison. Both times count as
// writes to them, so that a thread that reads them in between is found, whether before or behind.
void copy_async(void* shared, const void* global, bool inside);
void wait_for_copies();

}  // namespace troupe::kernels::cuda::emulation
