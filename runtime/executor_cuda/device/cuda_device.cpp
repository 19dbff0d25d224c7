#include "runtime/executor_cuda/device/cuda_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

#include "kernels/cuda/compiled_for.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {
namespace {

constexpr int oldest_major = 8;  // bf16 in tensor cores

std::string version_of(cudaError_t (*ask)(int*)) {
  int number = 0;  // 1000 major + 10 minor; 0 where there is none
  ask(&number);
  return number == 0 ? "none" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

tl::unexpected<error> unusable(const char* call, cudaError_t status) {
  cudaGetLastError();
  return fail(error_code::unavailable,
              fmt::format("no CUDA device can be used: {}: {} (the driver's CUDA is {}, this program's {})",
                          call, cudaGetErrorString(status), version_of(cudaDriverGetVersion),
                          version_of(cudaRuntimeGetVersion)),
              "device");
}

}  // namespace

result<cuda_device> find_cuda_device(std::int32_t id) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
    return unusable("cudaGetDeviceCount", status);
  if (id < 0 || id >= count)
    return fail(error_code::unavailable,
                fmt::format("device_id is {}, but there are {} CUDA devices", id, count), "device_id");
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, id); status != cudaSuccess)
    return unusable("cudaGetDeviceProperties", status);
  cuda_device device;
  device.id = id;
  device.name = properties.name;
  std::array<char, 32> bus_id{};
  if (const cudaError_t status = cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), id);
      status != cudaSuccess)
    return unusable("cudaDeviceGetPCIBusId", status);
  device.bus_id = bus_id.data();
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory = properties.totalGlobalMem;
  device.shared_per_block = properties.sharedMemPerBlockOptin;
  if (device.major < oldest_major)
    return fail(
        error_code::unsupported,
        fmt::format("{} is too old: compute capability {}.0 is needed", describe(device), oldest_major),
        "device_id");
  if (auto checked = check_code(kernels::cuda::compiled_for(), device); !checked)
    return tl::unexpected(checked.error());
  return device;
}

result<void> check_code(std::string_view compiled_for, const cuda_device& device) {
  if (kernels::cuda::runs_on(compiled_for, device.major, device.minor)) return {};
  return fail(error_code::unsupported,
              fmt::format("this program has no code for {}, only for compute capability {}: build it with "
                          "-DTROUPE_CUDA_ARCHITECTURES={}{}",
                          describe(device), compiled_for, device.major, device.minor),
              "device_id");
}

result<cuda_device> open_cuda_device(std::int32_t id) {
  auto device = find_cuda_device(id);
  if (!device) return device;
  if (const cudaError_t status = cudaSetDevice(id); status != cudaSuccess)
    return unusable("cudaSetDevice", status);
  return device;
}

std::string describe(const cuda_device& device) {
  return fmt::format("{} (device {}, compute capability {}.{}, {} multiprocessors, {} MiB)", device.name,
                     device.id, device.major, device.minor, device.multiprocessors, device.memory >> 20U);
}

std::size_t l2_cache_bytes() {
  int device = 0;
  int bytes = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(bytes);
}

}  // namespace troupe
