#include "runtime/executor/cpu/cpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/dispatch.hpp"

namespace troupe {
namespace {

constexpr const char* arithmetic =
    "activations and sums in float32, products with quantised weights in int8, products with float weights "
    "in "
    "float32";

// vLLM's --dtype.
constexpr std::array<std::string_view, 6> known_dtypes{"auto",     "half",  "float16",
                                                       "bfloat16", "float", "float32"};

std::string available_paths() {
  std::string names;
  for (const kernels::kernel_table* table : kernels::available_kernels())
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  return names;
}

result<void> check_dtype(const std::string& dtype) {
  if (dtype == "auto") return {};
  if (std::find(known_dtypes.begin(), known_dtypes.end(), dtype) == known_dtypes.end())
    return fail(error_code::invalid_argument,
                "dtype must be auto, half, float16, bfloat16, float or float32, got '" + dtype + "'",
                "dtype");
  return fail(error_code::unsupported,
              fmt::format("dtype is {}, but the CPU computes in one arithmetic ({}): dtype must be auto",
                          dtype, arithmetic),
              "dtype");
}

result<kernels::kv_dtype> find_kv_dtype(const std::string& name) {
  if (name == "auto" || name == "f16") return kernels::kv_dtype::f16;
  if (name == "int8") return kernels::kv_dtype::int8;
  return fail(error_code::invalid_argument, "kv_cache_dtype must be auto, f16 or int8", "kv_cache_dtype");
}

}  // namespace

result<cpu_device> check_cpu_device(const std::string& kernel_path, const std::string& dtype,
                                    const std::string& kv_cache_dtype) {
  cpu_device device;
  device.cpu = kernels::cpu_model();
  device.kernels = kernels::find_kernels(kernel_path);
  if (device.kernels == nullptr)
    return fail(error_code::unsupported,
                fmt::format("kernel path '{}' is not one that this CPU can run: it has {}", kernel_path,
                            available_paths()),
                "kernel_path");
  if (auto checked = check_dtype(dtype); !checked) return tl::unexpected(checked.error());
  const auto kv_dtype = find_kv_dtype(kv_cache_dtype);
  if (!kv_dtype) return tl::unexpected(kv_dtype.error());
  device.kv_dtype = *kv_dtype;
  return device;
}

std::string describe(const cpu_device& device) {
  return fmt::format("{}: kernels {} (it has {}), dtype auto: {}", device.cpu.empty() ? "CPU" : device.cpu,
                     device.kernels->name, available_paths(), arithmetic);
}

}  // namespace troupe
