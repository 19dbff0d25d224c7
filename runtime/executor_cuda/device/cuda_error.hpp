// What CUDA's calls answer, as exceptions.
#pragma once
#include <cuda_runtime_api.h>

#include "runtime/executor/executor.hpp"

namespace troupe {

// Returns where `status` is success. Else throws what executor.hpp has for it: out_of_device_memory, or
// device_lost where the device answers nothing any more, as after a fault in a kernel or when it has left the
// bus; or std::runtime_error, which names `call`.
void check_cuda(cudaError_t status, const char* call);

// Of a library's call that has failed, where its status does not tell. Both clear CUDA's last error.
bool is_device_lost();       // waits for the device; a capture that is under way becomes invalid
bool lacks_device_memory();  // tries to take 32 MiB

// The errors that launches since the last check have left behind, by the same rules.
void check_launches(const char* what);

}  // namespace troupe
