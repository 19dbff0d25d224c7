// What CUDA's calls answer, as exceptions.
#pragma once
#include <cuda_runtime_api.h>

#include <new>
#include <string>

namespace troupe {

// The device has no room: nothing else is lost.
class out_of_device_memory : public std::bad_alloc {
 public:
  explicit out_of_device_memory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Returns where `status` is success. Else throws out_of_device_memory; device_lost (executor.hpp) where the
// device answers nothing any more, as after a fault in a kernel or when it has left the bus; or
// std::runtime_error, which names `call`.
void check_cuda(cudaError_t status, const char* call);

// The errors that launches since the last check have left behind, by the same rules.
void check_launches(const char* what);

}  // namespace troupe
