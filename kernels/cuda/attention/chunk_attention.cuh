// Attention of many queries a sequence: prefill chunks. A block computes 64 queries of a KV head over their
// whole context, 16 a warp; its warps share each tile of 64 tokens through shared memory, 16 bits an element
// whatever is stored.
//
// What limits it are the tensor cores and the way to them. For 16 queries and 64 tokens a warp computes
// head_dim products of 16x8x16 and reads 256 * head_dim bytes of shared memory: at head_dim 128 that are 128
// products, 210 cycles at the 0.6 a cycle that this instruction reaches on an H100, and 256 cycles at 128
// bytes each: at best 0.5 products a cycle, half of what that device's own instruction for whole warp groups
// reaches. 16-bit keys are under way while values are multiplied and the other way round; 8-bit elements are
// widened on their way to shared memory, once for all four warps, which other blocks' products have to hide.
// Shared memory holds keys and values of a tile, 256 * head_dim bytes, and as much of what earlier stretches
// gave: 64 KB at head_dim 128, where registers leave room for two blocks on an SM.
#pragma once
#include "kernels/cuda/attention/attention_items.cuh"
#include "kernels/cuda/copy_async.cuh"

namespace troupe::kernels::cuda {

inline constexpr int chunk_warps = attention_threads / 32;
static_assert(attention_threads == 2 * tile_tokens);  // each stages one scale
static_assert(chunk_warps * tile_pairs == pairs_of_a_chunk);

// Blocks on a multiprocessor at a time.
template <int Dims>
constexpr int chunk_residents = Dims <= 64    ? 3
                                : Dims <= 128 ? 2
                                              : 1;

// Of eight chunks, 128 bytes, of a token's row in shared memory: where one of them lies. Rows are a multiple
// of as many bytes, so the same chunk of neighbouring tokens would lie in the same banks; so neither the
// eight lanes that read two tokens' keys together (64 bytes of each) meet, nor those that read values of four
// (32 bytes, tokens two apart).
__device__ __forceinline__ int staged_chunk(int token, int chunk) {
  return chunk ^ (token / 2 % 4 * 2) ^ (token % 2 * 4);
}

// The 64 tokens of a tile in shared memory.
template <class Element, class Stored, int Dims>
struct staged_tile {
  static constexpr bool scaled = std::is_same_v<Stored, std::int8_t>;
  static constexpr int chunks = Dims / chunk_elements;  // of a token

  uint4* keys;  // [64][chunks]
  uint4* values;
  float* scales;  // [2][64]: of keys, of values

  // All threads of the block together: elements and tokens that do not exist become zeros.
  __device__ __forceinline__ void stage(const paged_head<Stored>& head, kv_part part, int first,
                                        int tokens) const {
    const int offset = part == kv_part::key ? 0 : head.value_offset;
    uint4* to = part == kv_part::key ? keys : values;
#pragma unroll(Dims <= 192 ? 4 : 2)
    for (int unit = static_cast<int>(threadIdx.x); unit < tile_tokens * chunks; unit += attention_threads) {
      const int token = unit / chunks;
      const int chunk = unit % chunks;
      const bool inside = token < tokens && chunk * chunk_elements < head.head_dim;
      const std::int64_t place = inside ? head.place(first + token) + offset : 0;
      const Stored* at = head.elements + place * head.head_dim + (inside ? chunk * chunk_elements : 0);
      uint4* put = to + token * chunks + chunk / 8 * 8 + staged_chunk(token, chunk % 8);
      if constexpr (sizeof(Stored) == 2) {
        copy_async(put, at, inside);
      } else {
        std::uint32_t pairs[4] = {0, 0, 0, 0};
        if (inside) chunk_reader<Element, Stored>::widen(*reinterpret_cast<const uint2*>(at), pairs);
        *put = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
    if constexpr (scaled) {
      // Both with the keys: the weights take those of the values in before the values are there.
      if (part == kv_part::value) return;
      const int token = static_cast<int>(threadIdx.x) % tile_tokens;
      const float* of = head.scales + (static_cast<int>(threadIdx.x) < tile_tokens ? 0 : head.value_offset);
      scales[threadIdx.x] = token < tokens ? of[head.place(first + token)] : 0.0F;
    }
  }

  __device__ __forceinline__ void read(const uint4* from, std::uint32_t (&pairs)[4]) const {
    const uint4 words = *from;
    pairs[0] = words.x;
    pairs[1] = words.y;
    pairs[2] = words.z;
    pairs[3] = words.w;
  }
  // Of token 8 n + g, elements 32 c + 8 t and on.
  __device__ __forceinline__ void key(int n, int c, std::uint32_t (&pairs)[4]) const {
    const int row = static_cast<int>(threadIdx.x % 32 / 4);
    const int chunk = c % 2 * 4 + static_cast<int>(threadIdx.x % 4);
    read(keys + row * chunks + staged_chunk(row, chunk) + 8 * n * chunks + c / 2 * 8, pairs);
  }
  // Of token 16 k + 2 t + {0, 1, 8, 9}[i], elements 64 c + 8 g and on.
  __device__ __forceinline__ void value(int k, int i, int c, std::uint32_t (&pairs)[4]) const {
    const int row = static_cast<int>(threadIdx.x % 4) * 2 + i % 2;
    const int chunk = static_cast<int>(threadIdx.x % 32 / 4);
    read(values + row * chunks + staged_chunk(row, chunk) + (16 * k + i / 2 * 8) * chunks + 8 * c, pairs);
  }
  __device__ __forceinline__ float2 key_scales(int n) const {
    return reinterpret_cast<const float2*>(scales)[4 * n + static_cast<int>(threadIdx.x % 4)];
  }
  __device__ __forceinline__ float2 value_scales(int n) const {
    return reinterpret_cast<const float2*>(scales + tile_tokens)[4 * n + static_cast<int>(threadIdx.x % 4)];
  }
};

// A warp's queries: what they have seen of the stretch, in registers, and of the stretches before, in shared
// memory.
template <class Element, class Stored, int Dims>
struct chunk_rows {
  static constexpr int groups = Dims / 64;
  static constexpr bool hold_queries = Dims <= 128;  // else they are read anew for each tile

  softmax_state states[2] = {nothing_seen(), nothing_seen()};
  float outputs[groups][8][4] = {};
  query_operands queries[hold_queries ? Dims / 32 : 1];
  float4* kept;  // of the stretches before, this thread's: outputs [groups * 8][threads of the block], states

  __device__ __forceinline__ void score(const staged_tile<Element, Stored, Dims>& tile,
                                        const lane_queries<Element>& lane, int head_dim,
                                        float (&scores)[2][4][4]) {
#pragma unroll(hold_queries ? Dims / 32 : 1)
    for (int c = 0; c < Dims / 32; ++c) {
      if constexpr (!hold_queries) queries[0] = load_queries(lane.elements[0], lane.elements[1], c, head_dim);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t b[2][4][2];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          std::uint32_t pairs[4];
          tile.key(4 * half + n, c, pairs);
#pragma unroll
          for (int i = 0; i < 4; ++i) b[i / 2][n][i % 2] = pairs[i];
        }
        multiply_tiles<Element, 2, 4>(scores[half], queries[hold_queries ? c : 0].a, b);
      }
    }
  }
  __device__ __forceinline__ void add(const staged_tile<Element, Stored, Dims>& tile, tile_weights& weights) {
    fold_factors factors[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) factors[i] = fold(states[i], weights.states[i]);
#pragma unroll
    for (int c = 0; c < groups; ++c) {
      float sums[8][4] = {};
// Rolled up, as more at once would spill registers: so the weights of 16 tokens after the other come to the
// front, and four turns later they stand as they stood.
#pragma unroll 1
      for (int k = 0; k < 4; ++k) {
        std::uint32_t chunks[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) tile.value(k, i, c, chunks[i]);
        add_values<Element>(sums, weights.a[0], chunks);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t front = weights.a[0][i];
          weights.a[0][i] = weights.a[1][i];
          weights.a[1][i] = weights.a[2][i];
          weights.a[2][i] = weights.a[3][i];
          weights.a[3][i] = front;
        }
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          outputs[c][j][i] = fold_output(outputs[c][j][i], sums[j][i], factors[i / 2]);
      }
    }
  }
  // Folds the stretch into those before it.
  __device__ __forceinline__ void end_stretch(bool first) {
    float4* states_kept = kept + 8 * groups * attention_threads;
    softmax_state earlier[2] = {nothing_seen(), nothing_seen()};
    if (!first) {
      const float4 both = *states_kept;
      earlier[0] = {both.x, both.y};
      earlier[1] = {both.z, both.w};
    }
    fold_factors factors[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      factors[i] = fold(earlier[i], states[i]);
      states[i] = nothing_seen();
    }
    *states_kept = make_float4(earlier[0].maximum, earlier[0].sum, earlier[1].maximum, earlier[1].sum);
#pragma unroll
    for (int c = 0; c < groups; ++c) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        float4* at = kept + (8 * c + j) * attention_threads;
        const float4 before = first ? make_float4(0.0F, 0.0F, 0.0F, 0.0F) : *at;
        float(&now)[4] = outputs[c][j];
        *at =
            make_float4(fold_output(before.x, now[0], factors[0]), fold_output(before.y, now[1], factors[0]),
                        fold_output(before.z, now[2], factors[1]), fold_output(before.w, now[3], factors[1]));
#pragma unroll
        for (int i = 0; i < 4; ++i) now[i] = 0.0F;
      }
    }
  }
  __device__ __forceinline__ void store(const attention_arguments& in, const pair_range& range) const {
    const float4 both = kept[8 * groups * attention_threads];  // maximum and sum of two queries
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int pair = lane / 4 + 8 * (i / 2);
      if (pair >= range.count) continue;
      const float inverse = __frcp_rn(i < 2 ? both.y : both.w);
      Element* out = element_of(static_cast<Element*>(in.out), in.out_stride, in, range, pair, blockIdx.y);
#pragma unroll
      for (int c = 0; c < groups; ++c) {
        const int element = 64 * c + 16 * (lane % 4) + 8 * (i % 2);
        if (element >= in.kv.head_dim) continue;
        float values[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const auto* four = reinterpret_cast<const float*>(kept + (8 * c + j) * attention_threads);
          values[j] = __fmul_rn(four[i], inverse);
        }
        store_outputs(out + element, values);
      }
    }
  }
};

template <class Element, class Stored, int Dims>
__device__ __forceinline__ void attend_chunk(const attention_arguments& in, const attention_item& item,
                                             const staged_tile<Element, Stored, Dims>& tile, float4* kept) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int kv_head = static_cast<int>(blockIdx.y);
  const pair_range range = pairs_of(item, warp * tile_pairs);
  // Tokens that this warp's queries see.
  const int seen = range.count > 0 ? item.stored + (range.first + range.count - 1) / in.group + 1 : 0;
  const paged_head<Stored> head(in, item, kv_head);
  const lane_queries<Element> lane(in, range, kv_head);
  chunk_rows<Element, Stored, Dims> rows;
  rows.kept = kept + threadIdx.x;
  if constexpr (rows.hold_queries) {
#pragma unroll
    for (int c = 0; c < Dims / 32; ++c) {
      rows.queries[c] = load_queries(lane.elements[0], lane.elements[1], c, in.kv.head_dim);
    }
  }
  tile.stage(head, kv_part::key, 0, item.context);
  for (int first = 0; first < item.context; first += tile_tokens) {
    const bool looks = first < seen;
    wait_for_copies();
    __syncthreads();  // the keys are there, and nobody reads the values before any more
    tile.stage(head, kv_part::value, first, item.context - first);
    float scores[2][4][4] = {};
    if (looks) rows.score(tile, lane, in.kv.head_dim, scores);
    const int visible[2] = {lane.visible[0] - first, lane.visible[1] - first};
    tile_weights weights;
    if (looks) weights = weigh<Element>(scores, visible, in.scale * log2_of_e, tile);
    wait_for_copies();
    __syncthreads();  // the values are there, and nobody reads the keys any more
    if (first + tile_tokens < item.context) {
      tile.stage(head, kv_part::key, first + tile_tokens, item.context - first - tile_tokens);
    }
    if (looks) rows.add(tile, weights);
    if (looks && (first + tile_tokens) % stretch_tokens == 0) rows.end_stretch(first < stretch_tokens);
  }
  // Where the last tile that it saw ended a stretch, this folds in nothing, which changes nothing. That was
  // the first stretch where it saw some of that one's last tile.
  if (seen > 0) {
    rows.end_stretch(seen <= stretch_tokens - tile_tokens);
    rows.store(in, range);
  }
}

template <class Element, class Stored, int Dims>
__global__ void __launch_bounds__(attention_threads, chunk_residents<Dims>)
    chunk_attention(attention_arguments in) {
  // [64 tokens][Dims] of keys, of values, [Dims / 64 * 8][threads] outputs of four
  TROUPE_DYNAMIC_SHARED(uint4, staged);
  TROUPE_SHARED(float, scales, [2 * tile_tokens]);
  constexpr int part = tile_tokens * Dims / chunk_elements;
  const staged_tile<Element, Stored, Dims> tile = {staged, staged + part, scales};
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  for (int index = static_cast<int>(blockIdx.x); index < __ldg(in.num_items);
       index += static_cast<int>(gridDim.x)) {
    attend_chunk<Element, Stored, Dims>(in, load_item(in, index), tile,
                                        reinterpret_cast<float4*>(staged + 2 * part));
    __syncthreads();  // the next item stages keys where this one's were read
  }
}

template <class Element, class Stored, int Dims>
void launch_chunks(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream) {
  constexpr int shared = chunk_shared_bytes(Dims);
  static_assert(shared == tile_tokens * Dims * 2 * 2 + (Dims / 8 + 1) * attention_threads * 16);
  launch_attention(chunk_attention<Element, Stored, Dims>, shared, arguments, blocks, stream);
}

}  // namespace troupe::kernels::cuda
