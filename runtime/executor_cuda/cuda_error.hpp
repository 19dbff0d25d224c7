// What CUDA's calls answer, as exceptions.
#pragma once
#include <cuda_runtime_api.h>

#include "runtime/executor/executor.hpp"

namespace troupe {

// Returns where `status` is success. Else throws what executor.hpp has for it: out_of_device_memory, or
// device_lost where the device answers nothing any more, as after a fault in a kernel or when it has left the
// bus; or std::runtime_error, which names `call`.
void check_cuda(cudaError_t status, const char* call);

// The errors that launches since the last check have left behind, by the same rules.
void check_launches(const char* what);

}  // namespace troupe
