// What the emulation found wrong: out-of-bounds accesses, races, divergent barriers and misuse of the runtime
// API.
#pragma once
#include <string>
#include <vector>

namespace troupe::kernels::cuda::emulation {

void report(std::string text);

// All reports since the last call, oldest first. A test that expects none checks that this is empty.
std::vector<std::string> take_reports();

}  // namespace troupe::kernels::cuda::emulation
