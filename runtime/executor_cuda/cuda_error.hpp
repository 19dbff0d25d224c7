// What CUDA's calls answer, as exceptions.
#pragma once
#include <cuda_runtime_api.h>

#include "runtime/executor/executor.hpp"

namespace troupe {

// Returns where `status` is success. Else throws what executor.hpp has for it: out_of_device_memory, or
// device_lost where the device answers nothing any more, as after a fault in a kernel or when it has left the
// bus; or std::runtime_error, which names `call`.
void check_cuda(cudaError_t status, const char* call);

// What a library's call that has failed leaves behind, where the library itself does not say: whether the
// device answers nothing any more, and whether it has no memory, not even for a kernel that is loaded.
bool is_device_lost();
bool lacks_device_memory();

// The errors that launches since the last check have left behind, by the same rules.
void check_launches(const char* what);

}  // namespace troupe
