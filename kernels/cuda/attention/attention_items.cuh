// What an item of the attention plan means to a warp: its queries, and where the tokens that they see lie.
#pragma once
#include <type_traits>

#include "kernels/cuda/attention/attention_tile.cuh"
#include "kernels/cuda/attention/paged_attention.hpp"
#include "kernels/cuda/shared_bytes.cuh"

namespace troupe::kernels::cuda {

// The pairs of an item's sequence that a warp or block works on.
struct pair_range {
  int first_row;  // of the sequence
  int first;
  int count;

  __device__ __forceinline__ int row(int pair, int group) const { return first_row + (first + pair) / group; }
};

__device__ __forceinline__ attention_item load_item(const attention_arguments& in, int index) {
  const int4* at = reinterpret_cast<const int4*>(in.items + index);
  const int4 low = __ldg(at);
  const int4 high = __ldg(at + 1);
  return {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
}

// At most 16 of an item's pairs from number `offset` on; count <= 0 where it has none there.
__device__ __forceinline__ pair_range pairs_of(const attention_item& item, int offset) {
  return {item.first_row, item.first_pair + offset, min(item.pairs - offset, tile_pairs)};
}

// The first element of a query or an output; `pair` counts from the range's first.
template <class Element>
__device__ __forceinline__ Element* element_of(Element* base, std::int64_t stride,
                                               const attention_arguments& in, const pair_range& range,
                                               int pair, int kv_head) {
  const int head = kv_head * in.group + (range.first + pair) % in.group;
  return base + range.row(pair, in.group) * stride + static_cast<std::int64_t>(head) * in.kv.head_dim;
}

// This lane's queries g and g + 8 of a tile of 16 pairs.
template <class Element>
struct lane_queries {
  const Element* elements[2] = {nullptr, nullptr};  // null where there is no such query
  int visible[2] = {0, 0};                          // tokens of the context

  __device__ __forceinline__ lane_queries(const attention_arguments& in, const pair_range& range,
                                          int kv_head) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int pair = static_cast<int>(threadIdx.x % 32 / 4) + 8 * i;
      if (pair >= range.count) continue;
      elements[i] =
          element_of(static_cast<const Element*>(in.queries), in.query_stride, in, range, pair, kv_head);
      visible[i] = __ldg(in.positions + range.row(pair, in.group)) + 1;
    }
  }
};

// One KV head of one layer in the paged memory. A token's place counts in tokens from the first key there;
// its value lies value_offset tokens behind its key.
template <class Stored>
struct paged_head {
  const Stored* elements;
  const float* scales;
  const std::int32_t* table;  // of the sequence
  int value_offset;
  int block_size;
  int block_shift;  // log2(block_size)
  int head_dim;

  __device__ __forceinline__ paged_head(const attention_arguments& in, const attention_item& item,
                                        int kv_head)
      : table(in.block_tables + item.table),
        value_offset(in.kv.num_kv_heads * in.kv.block_size),
        block_size(in.kv.block_size),
        block_shift(in.kv.block_shift()),
        head_dim(in.kv.head_dim) {
    const std::int64_t first = in.kv.token_index(in.layer, 0, kv_part::key, kv_head, 0);
    elements = static_cast<const Stored*>(in.kv.data) + first * head_dim;
    scales = in.kv.scales + first;
  }
  __device__ __forceinline__ int place(int token) const {
    const int block = __ldg(table + (token >> block_shift));
    return 2 * block * value_offset + (token & (block_size - 1));
  }
};

// Writes eight outputs of a query.
template <class Element>
__device__ __forceinline__ void store_outputs(Element* out, const float (&values)[8]) {
  *reinterpret_cast<uint4*>(out) =
      make_uint4(pack_pair<Element>(values[0], values[1]), pack_pair<Element>(values[2], values[3]),
                 pack_pair<Element>(values[4], values[5]), pack_pair<Element>(values[6], values[7]));
}

inline constexpr int attention_threads = 128;  // of a block: four warps

template <class Kernel>
void launch_attention(Kernel kernel, int shared_bytes, const attention_arguments& arguments,
                      std::int32_t blocks, cudaStream_t stream) {
  ask_for_shared_bytes(kernel, static_cast<std::size_t>(shared_bytes));
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(arguments.kv.num_kv_heads));
  TROUPE_LAUNCH_EARLY(kernel, grid, dim3(attention_threads), static_cast<std::size_t>(shared_bytes), stream,
                      arguments);
}

}  // namespace troupe::kernels::cuda
