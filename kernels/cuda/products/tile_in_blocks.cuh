// The 64 tokens of one warp, read from the paged memory chunk by chunk. In place of tokens and elements that
// do not exist the last ones that do are read once more: their scores are masked, their weights 0 and their
// outputs not kept, and a load without a condition leaves no registers to be cleared.
#pragma once
#include <type_traits>

#include "kernels/cuda/attention/attention_items.cuh"
#include "kernels/cuda/device.cuh"

namespace troupe::kernels::cuda {

template <class Stored>
struct tile_in_blocks {
  using raw = typename raw_chunk<Stored>::type;
  static constexpr bool scaled = std::is_same_v<Stored, std::int8_t>;

  const paged_head<Stored>& head;
  int last;            // token that anybody sees
  int last_chunk;      // of a token
  unsigned places[8];  // of each eighth token, in tokens: eight in a row are in one block

  __device__ __forceinline__ tile_in_blocks(const paged_head<Stored>& of, int first, int count)
      : head(of), last(count - 1), last_chunk(of.head_dim / chunk_elements - 1) {
#pragma unroll
    for (int n = 0; n < 8; ++n) places[n] = head.place(first + min(8 * n, last / 8 * 8));
  }
  __device__ __forceinline__ int last_of(int n) const { return max(min(last - 8 * n, 7), 0); }
  __device__ __forceinline__ raw load(int n, int within, int offset, int chunk) const {
    // Counted in chunks, 32 bits reach over 64 GB of a layer and take half the registers of a pointer.
    const auto token = places[n] + static_cast<unsigned>(min(within, last_of(n)) + offset);
    const auto at =
        token * static_cast<unsigned>(last_chunk + 1) + static_cast<unsigned>(min(chunk, last_chunk));
    return reinterpret_cast<const raw*>(head.elements)[at];
  }
  // All lanes together: the values, and the keys where they are wanted, too, will lie in the L2 cache, where
  // a kernel before this one may still write them.
  __device__ __forceinline__ void ask_for_rows(int first, bool keys) const {
    const int row_bytes = head.head_dim * static_cast<int>(sizeof(Stored));
    for (int token = static_cast<int>(threadIdx.x % 32); token <= last; token += 32) {
      const auto place = static_cast<std::int64_t>(head.place(first + token));
      const auto* key = reinterpret_cast<const char*>(head.elements) + place * row_bytes;
      const auto* value = key + static_cast<std::int64_t>(head.value_offset) * row_bytes;
      for (int byte = 0; byte < row_bytes; byte += 128) {
        if (keys) prefetch_line(key + byte);
        prefetch_line(value + byte);
      }
    }
  }
  // Of token 8 n + g, elements 32 c + 8 t and on.
  __device__ __forceinline__ raw key(int n, int c) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return load(n, lane / 4, 0, 4 * c + lane % 4);
  }
  // Of token 16 k + 2 t + {0, 1, 8, 9}[i], elements 64 c + 8 g and on.
  __device__ __forceinline__ raw value(int k, int i, int c) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return load(2 * k + i / 2, 2 * (lane % 4) + i % 2, head.value_offset, 8 * c + lane / 4);
  }
  __device__ __forceinline__ float2 scales(int n, int offset) const {
    const int within = min(2 * static_cast<int>(threadIdx.x % 4), last_of(n) / 2 * 2);
    const float2 two = *reinterpret_cast<const float2*>(head.scales + places[n] + within + offset);
    return make_float2(two.x, within < last_of(n) ? two.y : 0.0F);
  }
  __device__ __forceinline__ float2 key_scales(int n) const { return scales(n, 0); }
  __device__ __forceinline__ float2 value_scales(int n) const { return scales(n, head.value_offset); }
};

}  // namespace troupe::kernels::cuda
