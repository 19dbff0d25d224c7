// What a thread does to memory.
#pragma once
#include <cstdint>

namespace troupe::kernels::cuda::emulation {

// relaxed: a store that several threads may do at once, and that orders nothing.
enum class access : std::uint8_t { read, write, atomic, relaxed };

// "read of", "write to", ...: to be followed by what is accessed.
constexpr const char* name(access kind) {
  if (kind == access::atomic) return "atomic operation on";
  if (kind == access::relaxed) return "relaxed store to";
  return kind == access::read ? "read of" : "write to";
}

// Whether it sees what was there; else it is a store, and nothing more.
constexpr bool reads(access kind) { return kind == access::read || kind == access::atomic; }

// Whether it may meet others of its kind.
constexpr bool is_atomic(access kind) { return kind == access::atomic || kind == access::relaxed; }

}  // namespace troupe::kernels::cuda::emulation
