// What a thread does to memory.
#pragma once
#include <cstdint>

namespace troupe::kernels::cuda::emulation {

enum class access : std::uint8_t { read, write, atomic };

// "read of", "write to", ...: to be followed by what is accessed.
constexpr const char* name(access kind) {
  if (kind == access::atomic) return "atomic operation on";
  return kind == access::read ? "read of" : "write to";
}

}  // namespace troupe::kernels::cuda::emulation
