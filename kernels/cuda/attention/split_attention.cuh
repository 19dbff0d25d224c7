// Attention of few queries a sequence. A block computes one KV head's stretch of 256 tokens for up to 16
// queries, each of its four warps a tile of 64; the block that comes last folds the stretches.
//
// What limits it is the bandwidth of the KV memory, which is read once for all query heads. An H100
// moves 3.35 TB/s, 25 bytes a nanosecond and SM. Of 16-bit elements at head_dim 128 a warp has 4 KB on the
// way, three blocks of four warps fit on an SM: at 800 ns from request to data under load they could take 60
// bytes a nanosecond. Of that are lost: to find a tile (item and block table, each from the
// L2 cache) a third of a microsecond, to fold four tiles as much, beside 6.4 to stream the 32 KB of one: 52
// bytes remain, twice what there is. Other shapes reach 40 (head_dim 256, int8 at 64) to 80. A tile takes
// some 1,100 instructions of the 9,000 that an SM could issue while its bytes arrive, 2,300 of 4,500 where
// 8-bit elements are widened; the tensor cores compute 16 rows for at most 16 queries in a tenth of the time.
// At batch 32 x 4,096 with 8 KV heads there are 4,096 items for 396 places, so the last, part-filled round
// costs 6 %. Results of stretches are 4 bytes an element, written and read: at 4 query heads a KV head 3 % of
// the KV bytes (6 % for 8-bit ones), and they stay in the L2 cache. Together 85 % of the bandwidth, by this
// reckoning; on an H200, which moves 4.07 TB/s, 80 % were measured at 16 bits. Its 49 % in int8 and 55 % in
// fp8 are instructions, not bytes.
#pragma once
#include "kernels/cuda/attention/attention_items.cuh"
#include "kernels/cuda/products/tile_in_blocks.cuh"

namespace troupe::kernels::cuda {

// Floats from a query's outputs to the next one's in shared memory: four banks on.
template <int Dims>
constexpr int split_pitch = Dims + 4;

// Chunks that a lane has asked for at a time: 128 bytes, or at head_dim 64 a whole tile's keys, then its
// values.
template <class Stored, int Dims>
constexpr int chunks_ahead = sizeof(Stored) == 2 && Dims > 64 ? 8 : 16;

// Keys of earlier steps are loaded before the kernels ahead are waited for, everything of this step behind
// that.
template <class Element, class Stored, int Dims>
__device__ __forceinline__ void score_keys(const tile_in_blocks<Stored>& tile,
                                           const lane_queries<Element>& queries, bool is_stored,
                                           float (&scores)[2][4][4]) {
  constexpr int groups = Dims / 32;
  constexpr int ahead = chunks_ahead<Stored, Dims> >= 2 * groups ? chunks_ahead<Stored, Dims> / groups
                                                                 : 2;  // of eight rounds of eight tokens
  typename raw_chunk<Stored>::type loaded[ahead][groups];
  std::uint32_t a[2 * groups][4];
  if (!is_stored) wait_for_earlier_kernels();
#pragma unroll
  for (int n = 0; n < ahead; ++n) {
#pragma unroll
    for (int c = 0; c < groups; ++c) loaded[n][c] = tile.key(n, c);
  }
  if (is_stored) wait_for_earlier_kernels();
#pragma unroll
  for (int c = 0; c < groups; ++c) {
    const query_operands part = load_queries(queries.elements[0], queries.elements[1], c, tile.head.head_dim);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[2 * c][i] = part.a[0][i];
      a[2 * c + 1][i] = part.a[1][i];
    }
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    std::uint32_t b[2 * groups][1][2];
#pragma unroll
    for (int c = 0; c < groups; ++c) {
      std::uint32_t pairs[4];
      chunk_reader<Element, Stored>::widen(loaded[n % ahead][c], pairs);
#pragma unroll
      for (int i = 0; i < 4; ++i) b[2 * c + i / 2][0][i % 2] = pairs[i];
      if (n + ahead < 8) loaded[n % ahead][c] = tile.key(n + ahead, c);
    }
    float sums[1][4] = {{0.0F, 0.0F, 0.0F, 0.0F}};
    multiply_tiles<Element, 2 * groups, 1>(sums, a, b);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n / 4][n % 4][i] = sums[0][i];
  }
}

// A lane's outputs of 64 elements to shared memory, [16 queries][pitch].
__device__ __forceinline__ void keep_outputs(const float (&sums)[8][4], float* outputs, int pitch,
                                             int pairs) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int pair = lane / 4 + 8 * (i / 2);
    if (pair >= pairs) continue;
    float* at = outputs + pair * pitch + 16 * (lane % 4) + 8 * (i % 2);
    *reinterpret_cast<float4*>(at) = make_float4(sums[0][i], sums[1][i], sums[2][i], sums[3][i]);
    *reinterpret_cast<float4*>(at + 4) = make_float4(sums[4][i], sums[5][i], sums[6][i], sums[7][i]);
  }
}

// What a block works on. It waits in shared memory while a tile has need of the registers.
struct split_work {
  attention_item item;
  pair_range range;

  __device__ __forceinline__ int tokens()
      const {  // of the stretch; none where these queries do not see so far
    return min(item.context - item.stretch * stretch_tokens, stretch_tokens);
  }
  __device__ __forceinline__ int stretches() const {
    return (item.context + stretch_tokens - 1) / stretch_tokens;
  }
  // Index into the work space of a query's result of a stretch.
  __device__ __forceinline__ std::int64_t partial(const attention_arguments& in, int stretch,
                                                  int pair) const {
    const int row = item.partial_row + stretch * range.count + pair;
    return static_cast<std::int64_t>(row) * in.kv.num_kv_heads + blockIdx.y;
  }
};

__device__ __forceinline__ split_work load_work(const attention_arguments& in, int index) {
  split_work work;
  work.item = load_item(in, index);
  work.range = pairs_of(work.item, 0);
  return work;
}

// One tile by one warp: states and outputs of its queries.
template <class Element, class Stored, int Dims>
__device__ __forceinline__ void attend_tile(const attention_arguments& in, const split_work& work, int number,
                                            int tokens, softmax_state* states, float* outputs) {
  const int first = work.item.stretch * stretch_tokens + number * tile_tokens;
  const paged_head<Stored> head(in, work.item, static_cast<int>(blockIdx.y));
  const tile_in_blocks<Stored> tile(head, first, tokens);
  const lane_queries<Element> queries(in, work.range, static_cast<int>(blockIdx.y));
  const bool is_stored = first + tokens <= work.item.stored;
  // A tile with tokens of this step, the only one of a short context, is read when those are there: the
  // others are on their way from the memory then.
  tile.ask_for_rows(first, !is_stored);
  float scores[2][4][4];
  score_keys<Element, Stored, Dims>(tile, queries, is_stored, scores);
  constexpr int steps = Dims / 64 * 4;  // of 64 elements of 16 tokens
  constexpr int ahead = chunks_ahead<Stored, Dims> / 4;
  static_assert(4 % ahead == 0);
  typename raw_chunk<Stored>::type loaded[ahead][4];
#pragma unroll
  for (int step = 0; step < ahead; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) loaded[step][i] = tile.value(step % 4, i, step / 4);
  }
  const int visible[2] = {queries.visible[0] - first, queries.visible[1] - first};
  const tile_weights weights = weigh<Element>(scores, visible, in.scale * log2_of_e, tile);
// Rolled up, as more at once would spill registers.
#pragma unroll 1
  for (int c = 0; c < Dims / 64; ++c) {
    float sums[8][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      std::uint32_t chunks[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        chunk_reader<Element, Stored>::widen(loaded[k % ahead][i], chunks[i]);
        if (4 * c + k + ahead < steps)
          loaded[k % ahead][i] = tile.value((k + ahead) % 4, i, c + (k + ahead) / 4);
      }
      add_values<Element>(sums, weights.a[k], chunks);
    }
    keep_outputs(sums, outputs + 64 * c, split_pitch<Dims>, work.range.count);
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (lane % 4 == 0) states[lane / 4 + 8 * i] = weights.states[i];
  }
}

// Eight outputs of a query over several tiles or stretches, folded in order.
struct folded_outputs {
  softmax_state state = nothing_seen();
  float values[8] = {};

  __device__ __forceinline__ void take(const softmax_state& next, const float4& low, const float4& high) {
    const fold_factors factors = fold(state, next);
    const float more[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = fold_output(values[i], more[i], factors);
  }
  template <class Element>
  __device__ __forceinline__ void store(Element* out) {
    const float inverse = __frcp_rn(state.sum);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = __fmul_rn(values[i], inverse);
    store_outputs(out, values);
  }
};

// Folds the tiles of the stretch: a result where there is no other stretch, else one for the work space.
template <class Element, int Dims>
__device__ __forceinline__ void fold_tiles(const attention_arguments& in, const split_work& work,
                                           const float* outputs, const softmax_state (*states)[tile_pairs]) {
  const int chunks = in.kv.head_dim / chunk_elements;
  for (int unit = static_cast<int>(threadIdx.x); unit < work.range.count * chunks;
       unit += attention_threads) {
    const int pair = unit / chunks;
    const int element = unit % chunks * chunk_elements;
    folded_outputs folded;
    for (int tile = 0; tile * tile_tokens < work.tokens(); ++tile) {
      const auto* at =
          reinterpret_cast<const float4*>(outputs + (tile * tile_pairs + pair) * split_pitch<Dims> + element);
      folded.take(states[tile][pair], at[0], at[1]);
    }
    if (work.stretches() == 1) {
      Element* out =
          element_of(static_cast<Element*>(in.out), in.out_stride, in, work.range, pair, blockIdx.y);
      folded.store(out + element);
      continue;
    }
    const std::int64_t row = work.partial(in, work.item.stretch, pair);
    auto* at = reinterpret_cast<float4*>(in.workspace.outputs + row * in.kv.head_dim + element);
    at[0] = make_float4(folded.values[0], folded.values[1], folded.values[2], folded.values[3]);
    at[1] = make_float4(folded.values[4], folded.values[5], folded.values[6], folded.values[7]);
    if (element == 0) {
      reinterpret_cast<float2*>(in.workspace.states)[row] =
          make_float2(folded.state.maximum, folded.state.sum);
    }
  }
}

// Folds the stretches, of which this block's was the last to come.
template <class Element>
__device__ __forceinline__ void fold_stretches(const attention_arguments& in, const split_work& work) {
  const int chunks = in.kv.head_dim / chunk_elements;
  const int stretches = work.stretches();
  for (int unit = static_cast<int>(threadIdx.x); unit < work.range.count * chunks;
       unit += attention_threads) {
    const int pair = unit / chunks;
    const int element = unit % chunks * chunk_elements;
    folded_outputs folded;
#pragma unroll 4
    for (int stretch = 0; stretch < stretches; ++stretch) {
      const std::int64_t row = work.partial(in, stretch, pair);
      const auto* at = reinterpret_cast<const float4*>(in.workspace.outputs + row * in.kv.head_dim + element);
      // Past the L1 cache: other multiprocessors wrote it.
      const float2 state = __ldcg(reinterpret_cast<const float2*>(in.workspace.states) + row);
      folded.take({state.x, state.y}, __ldcg(at), __ldcg(at + 1));
    }
    Element* out = element_of(static_cast<Element*>(in.out), in.out_stride, in, work.range, pair, blockIdx.y);
    folded.store(out + element);
  }
}

template <class Element, class Stored, int Dims>
__global__ void __launch_bounds__(attention_threads, split_residents(Dims))
    split_attention(attention_arguments in) {
  TROUPE_DYNAMIC_SHARED(float, outputs);  // [tiles][16][split_pitch]
  TROUPE_SHARED(softmax_state, states, [stretch_tiles][tile_pairs]);
  TROUPE_SHARED(split_work, work);
  TROUPE_SHARED(int, came_last);
  let_later_kernels_begin();
  for (int index = static_cast<int>(blockIdx.x); index < __ldg(in.num_items);
       index += static_cast<int>(gridDim.x)) {
    {
      const split_work loaded = load_work(in, index);
      if (loaded.tokens() <= 0) continue;
      if (threadIdx.x == 0) work = loaded;
      const int tile = static_cast<int>(threadIdx.x / 32);
      const int tokens = min(loaded.tokens() - tile * tile_tokens, tile_tokens);
      if (tokens > 0) {
        attend_tile<Element, Stored, Dims>(in, loaded, tile, tokens, states[tile],
                                           outputs + tile * tile_pairs * split_pitch<Dims>);
      }
    }
    wait_for_earlier_kernels();
    __syncthreads();
    fold_tiles<Element, Dims>(in, work, outputs, states);
    if (work.stretches() > 1) {
      // All threads' results are visible to the block that counts the last arrival: a fence before the atomic
      // here, one behind it there.
      __threadfence();
      __syncthreads();
      std::int32_t* arrived = in.workspace.arrived + work.partial(in, 0, 0);
      if (threadIdx.x == 0) {
        came_last = atomicAdd(arrived, 1) == work.stretches() - 1 ? 1 : 0;
        if (came_last != 0) atomicExch(arrived, 0);
      }
      __syncthreads();
      if (came_last != 0) {
        __threadfence();
        fold_stretches<Element>(in, work);
      }
    }
    __syncthreads();  // the next item writes where this one was read
  }
}

template <class Element, class Stored, int Dims>
void launch_split(const attention_arguments& arguments, std::int32_t blocks, cudaStream_t stream) {
  constexpr int shared = stretch_tiles * tile_pairs * split_pitch<Dims> * static_cast<int>(sizeof(float));
  launch_attention(split_attention<Element, Stored, Dims>, shared, arguments, blocks, stream);
}

}  // namespace troupe::kernels::cuda
