// What this process runs on.
#pragma once
#include <string>
#include <vector>

namespace troupe {

std::string cpu_name();  // "Intel(R) Xeon(R) ..."; "unknown" where the system does not say
std::vector<std::string>
cpu_flags();  // of those that matter to the kernels: "avx2", "avx512_vnni", "amx_int8"

}  // namespace troupe
