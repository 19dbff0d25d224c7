// Which arithmetic this CPU can run, found by CPUID.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.hpp"

namespace troupe::kernels {

// "avx512vnni", "avx2" or "reference"; "auto" is the fastest that this CPU has. nullptr: unknown or not on
// this CPU.
const kernel_table* find_kernels(std::string_view name);

// Every table that this CPU can run, fastest first.
std::vector<const kernel_table*> available_kernels();

// The CPU's name as it reports itself ("AMD EPYC"), empty where it does not.
std::string cpu_model();

}  // namespace troupe::kernels
