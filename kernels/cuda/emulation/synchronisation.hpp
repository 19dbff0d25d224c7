// Barriers, shuffles, votes and reductions under CUDA's names. Each knows where it was called, for reports
// and because threads must meet at the same one.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/emulation/execution.hpp"

namespace troupe::kernels::cuda::emulation {

template <class T>
T shuffled(warp_operation operation, unsigned mask, T value, int lane, int width, source_place place) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = meet_warp({operation, mask, bits, lane, width, place});
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
unsigned voted(warp_operation operation, unsigned mask, T value, source_place place) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(meet_warp({operation, mask, bits, 0, static_cast<int>(warp_size), place}));
}

}  // namespace troupe::kernels::cuda::emulation

#define TROUPE_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define TROUPE_EMULATION ::troupe::kernels::cuda::emulation

inline void __syncthreads(TROUPE_PLACE) {
  TROUPE_EMULATION::wait_for_block(TROUPE_EMULATION::block_barrier::plain, 0, {file, line});
}
inline int __syncthreads_count(int predicate, TROUPE_PLACE) {
  return TROUPE_EMULATION::wait_for_block(TROUPE_EMULATION::block_barrier::count, predicate, {file, line});
}
inline int __syncthreads_and(int predicate, TROUPE_PLACE) {
  return TROUPE_EMULATION::wait_for_block(TROUPE_EMULATION::block_barrier::all_of, predicate, {file, line});
}
inline int __syncthreads_or(int predicate, TROUPE_PLACE) {
  return TROUPE_EMULATION::wait_for_block(TROUPE_EMULATION::block_barrier::any_of, predicate, {file, line});
}
inline void __syncwarp(unsigned mask = ~0U, TROUPE_PLACE) {
  TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::barrier, mask, 0, {file, line});
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, TROUPE_PLACE) {
  return TROUPE_EMULATION::shuffled(TROUPE_EMULATION::warp_operation::shuffle, mask, value, lane, width,
                                    {file, line});
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, TROUPE_PLACE) {
  return TROUPE_EMULATION::shuffled(TROUPE_EMULATION::warp_operation::shuffle_up, mask, value,
                                    static_cast<int>(distance), width, {file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, TROUPE_PLACE) {
  return TROUPE_EMULATION::shuffled(TROUPE_EMULATION::warp_operation::shuffle_down, mask, value,
                                    static_cast<int>(distance), width, {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, TROUPE_PLACE) {
  return TROUPE_EMULATION::shuffled(TROUPE_EMULATION::warp_operation::shuffle_xor, mask, value, lanes, width,
                                    {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, TROUPE_PLACE) {
  return TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::ballot, mask, predicate != 0,
                                 {file, line});
}
inline int __any_sync(unsigned mask, int predicate, TROUPE_PLACE) {
  return __ballot_sync(mask, predicate, file, line) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate, TROUPE_PLACE) {
  return __ballot_sync(mask, predicate == 0 ? 1 : 0, file, line) == 0 ? 1 : 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, TROUPE_PLACE) {
  return TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::match_any, mask, value, {file, line});
}

template <class T>
T __reduce_add_sync(unsigned mask, T value, TROUPE_PLACE) {
  return static_cast<T>(
      TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::add, mask, value, {file, line}));
}
template <class T>
T __reduce_min_sync(unsigned mask, T value, TROUPE_PLACE) {
  using operation = TROUPE_EMULATION::warp_operation;
  const auto kind = std::is_signed_v<T> ? operation::minimum_signed : operation::minimum_unsigned;
  return static_cast<T>(TROUPE_EMULATION::voted(kind, mask, value, {file, line}));
}
template <class T>
T __reduce_max_sync(unsigned mask, T value, TROUPE_PLACE) {
  using operation = TROUPE_EMULATION::warp_operation;
  const auto kind = std::is_signed_v<T> ? operation::maximum_signed : operation::maximum_unsigned;
  return static_cast<T>(TROUPE_EMULATION::voted(kind, mask, value, {file, line}));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, TROUPE_PLACE) {
  return TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::bit_and, mask, value, {file, line});
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, TROUPE_PLACE) {
  return TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::bit_or, mask, value, {file, line});
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, TROUPE_PLACE) {
  return TROUPE_EMULATION::voted(TROUPE_EMULATION::warp_operation::bit_xor, mask, value, {file, line});
}

#undef TROUPE_PLACE
#undef TROUPE_EMULATION
