// What this CPU is asked for and can do, checked before anything is loaded.
#pragma once
#include <string>

#include "kernels/kernel_table.hpp"
#include "kernels/kv_tile.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct cpu_device {
  const kernels::kernel_table* kernels = nullptr;
  kernels::kv_dtype kv_dtype = kernels::kv_dtype::f16;
  std::string cpu;  // its name; empty where it does not say
};

// kernel_path: auto | avx512vnni | avx2 | reference. dtype: vLLM's words for the type to compute in; the CPU
// takes `auto` alone, because its kernels have one arithmetic. kv_cache_dtype: auto | f16 | int8. Errors:
// unsupported, invalid_argument, each naming the option and what this CPU can do.
result<cpu_device> check_cpu_device(const std::string& kernel_path, const std::string& dtype,
                                    const std::string& kv_cache_dtype);

// "AMD EPYC: kernels avx512vnni (it has avx512vnni, avx2, reference), dtype auto: float32 activations, ..."
std::string describe(const cpu_device& device);

}  // namespace troupe
