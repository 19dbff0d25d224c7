// Asks for memory that is about to be read. With a thousand sequences a step's time is what their cache and
// page misses take, unless these overlap.
#pragma once
#include <cstddef>

namespace troupe {

// A visitor of objects in memory's disorder asks for the one so many places ahead.
inline constexpr std::size_t prefetch_distance = 8;
// The same where a visit is short.
inline constexpr std::size_t far_prefetch_distance = 24;

inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  // GCC 12 takes a function that does nothing but prefetch for one without effect, and leaves out its calls.
  asm volatile("");
}
// The first `lines` cache lines of an object.
template <class T>
void prefetch_lines(const T* object, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) prefetch_line(reinterpret_cast<const char*>(object) + 64 * i);
}

}  // namespace troupe
