// A CUDA device: whether there is one that this program can use, and what it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

struct cuda_device {
  std::int32_t id = 0;
  std::string name;
  std::string bus_id;      // its place on the PCI bus: "0000:65:00.0"
  std::int32_t major = 0;  // compute capability
  std::int32_t minor = 0;
  std::int32_t multiprocessors = 0;
  std::size_t memory = 0;            // bytes
  std::size_t shared_per_block = 0;  // bytes that a block may have when it asks
};

// Looks at device `id` and takes nothing of it. Errors: unavailable (no driver, no device, a device of this
// number is not there), unsupported (older than compute capability 8.0; those of check_code()), each saying
// what there is.
result<cuda_device> find_cuda_device(std::int32_t id);
// The same, and makes it the calling thread's.
result<cuda_device> open_cuda_device(std::int32_t id);

// Errors: unsupported, where code for these compute capabilities (kernels/cuda/compiled_for.hpp) does not run
// on the device, saying what to build.
result<void> check_code(std::string_view compiled_for, const cuda_device& device);

// Of the device that is current. Throws what check_cuda() throws.
std::size_t l2_cache_bytes();

// Whether its tensor cores multiply 8-bit floats.
inline bool has_fp8_products(const cuda_device& device) {
  return device.major > 8 || (device.major == 8 && device.minor >= 9);
}

// "NVIDIA H100 80GB HBM3 (device 0, compute capability 9.0, 132 multiprocessors, 81079 MiB)"
std::string describe(const cuda_device& device);

}  // namespace troupe
