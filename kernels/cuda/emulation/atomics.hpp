// Atomic operations under CUDA's names. One emulated thread runs at a time, so a plain operation is one; each
// is known to the memory check as atomic.
#pragma once
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/emulation/block_races.hpp"
#include "kernels/cuda/emulation/memory_check.hpp"

namespace troupe::kernels::cuda::emulation {

template <class T, class Operation>
__attribute__((no_sanitize("thread"), noinline)) T atomically(T* memory, Operation operation) {
  check_access(memory, sizeof(T), access::atomic, sizeof(T));
  const T old = *memory;
  *memory = operation(old);
  return old;
}

template <class T>
__attribute__((no_sanitize("thread"), noinline)) void store_relaxed(T* memory, T value) {
  check_access(memory, sizeof(T), access::relaxed, sizeof(T));
  *memory = value;
}

}  // namespace troupe::kernels::cuda::emulation

template <class T>
T atomicAdd(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [value](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicSub(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [value](T old) { return static_cast<T>(old - value); });
}
template <class T>
T atomicMax(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(memory,
                                                        [value](T old) { return std::max(old, value); });
}
template <class T>
T atomicMin(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(memory,
                                                        [value](T old) { return std::min(old, value); });
}
template <class T>
T atomicAnd(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [value](T old) { return static_cast<T>(old & value); });
}
template <class T>
T atomicOr(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [value](T old) { return static_cast<T>(old | value); });
}
template <class T>
T atomicExch(T* memory, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(memory, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* memory, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [expected, value](T old) { return old == expected ? value : old; });
}
// The value counts up to `limit` and then begins at 0.
inline unsigned atomicInc(unsigned* memory, unsigned limit) {
  return ::troupe::kernels::cuda::emulation::atomically(
      memory, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}

inline void __threadfence() { ::troupe::kernels::cuda::emulation::fence(); }
inline void __threadfence_block() {}
