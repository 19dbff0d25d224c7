// The arithmetic of one decoder step as a table of functions, one table per instruction set. All tables give
// the same bits: every sum has one order, written here, and every fused multiply-add is meant as one.
//
// A row's result never depends on the rows beside it: tiles of several rows share the loads of weights, keys
// and values, not the sums.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/kv_tile.hpp"
#include "kernels/packed_weights.hpp"

namespace troupe::kernels {

// 32 activations as int8, and what products with them need; one cache line.
struct alignas(64) quantized_group {
  std::int8_t codes[group_inputs];
  float scale;                   // amax / 127
  float sum;                     // scale * sum of the codes
  std::int32_t offset;           // -128 * sum of the codes
  std::int32_t half_offsets[2];  // the same for each half of 16
};

// Rows that share a weight load stand beside each other: the groups of 8 rows are interleaved.
inline constexpr std::int32_t row_block = 8;

// Rows of activations as the matrix products read them. Float weights read `values`, quantised ones `groups`:
// group g of row r is groups[(r / 8 * groups_per_row + g) * 8 + r % 8].
struct activation_rows {
  const float* values;  // [rows][value_stride]
  std::size_t value_stride;
  const quantized_group* groups;  // [rows / 8, rounded up][groups_per_row][8]
  std::size_t groups_per_row;
};

enum class rotation : std::int32_t { interleaved, halves };

// The most queries that attend() takes at once.
inline constexpr std::int32_t max_attend_queries = 6;

// Queries of one KV head against one stretch of context. head_dim is a multiple of 16.
struct attend_arguments {
  const float* queries[max_attend_queries];  // each [head_dim], scaled by 1/sqrt(head_dim)
  std::int32_t limits[max_attend_queries];   // tokens of this stretch that each query sees, 1..stretch_tokens
  float* outputs[max_attend_queries];        // each [head_dim]: sum of exp(score - maximum) * V
  float maxima[max_attend_queries];          // out: the largest score
  float sums[max_attend_queries];            // out: sum of exp(score - maximum)
  const std::byte* const* tiles;             // [ceil(largest limit / 16)]
  std::int32_t num_queries;
  std::int32_t head_dim;
  float* scores;        // work space [num_queries][stretch_tokens]
  std::int16_t* codes;  // work space [num_queries][code_stride(head_dim)], for int8 tiles
};

constexpr std::int32_t code_stride(std::int32_t head_dim) {
  return head_dim > stretch_tokens ? head_dim : stretch_tokens;
}

// What depends on how keys and values are stored.
struct kv_kernels {
  // Stores one token's K and V at place `token` of a KV head's tile, clamped to what is finite in f16.
  // int8, x the head's Hadamard transform (sums and differences at distance 1, 2, 4, ...): scale = amax /
  // 127, code = 128 + round(x * (127 / amax)), to even; all 128 where amax is below 1e-30.
  void (*store)(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
                std::byte* tile);

  // Scores, then weights exp(score - maximum), then weighted values.
  // f16: every sum is a chain of fused multiply-adds in order.
  // int8: both products are exact sums of integers. A query's transform is rounded to 15 bits (amax / 16256),
  // and so are a stretch's weights, each times its token's V scale: score = float(dot) * (scale_q * scale_k),
  // output = the transform of float(dot) * scale_w; scale_q and scale_w hold hadamard_scale. (int8 keys
  // against rounded queries as in SageAttention, arXiv 2410.02367; 15 bits where it has 8, so that what is
  // lost is lost in the storage alone.)
  void (*attend)(attend_arguments& arguments);
};

// The state of a softmax over the stretches seen so far.
struct attention_state {
  float* output;  // [head_dim]
  float maximum;
  float sum;
};

struct kernel_table {
  const char* name;
  std::int32_t queries_at_once;  // how many queries attend() is best given

  // out[r * out_stride + 16 p ..] = (accumulate: +=) weights of panels [first, last) times row r, padding
  // included. Quantised: per output, over groups g in order, acc = fma(float(dot), scale_w * scale_x, acc),
  // then with a minimum acc = fma(minimum, sum_x, acc). Float: acc = fma(w[k], x[k], acc) over k in order.
  void (*matmul)(const packed_matrix& weights, std::int32_t first, std::int32_t last,
                 const activation_rows& input, std::int32_t rows, float* out, std::size_t out_stride,
                 bool accumulate);

  // Groups of 32 to int8: code = round(x * (127 / amax)), to even. A group whose amax is below 1e-30 is all
  // zero. `count` is a multiple of 32.
  void (*quantize_row)(const float* values, std::int32_t count, quantized_group* out);

  // out[i] = values[i] * (1 / sqrt(mean square + epsilon)) * weight[i]. The sum runs in 16 lanes, folded in
  // halves.
  void (*rms_norm)(const float* values, const float* weight, std::int32_t count, float epsilon, float* out);

  // out[i] = gate[i] / (1 + exp(-gate[i])) * up[i].
  void (*silu_multiply)(const float* gate, const float* up, std::int32_t count, float* out);

  // Rotates the first 2 * pairs values of a head in place by cosines and sines [pairs].
  void (*rotate)(float* head, const float* cosines, const float* sines, std::int32_t pairs, rotation layout);

  kv_kernels f16_kv;
  kv_kernels int8_kv;  // head_dim at most max_int8_head_dim
  const kv_kernels& kv(kv_dtype dtype) const { return dtype == kv_dtype::int8 ? int8_kv : f16_kv; }

  // state = state merged with a later stretch's (maximum, sum, output).
  void (*merge)(attention_state& state, float maximum, float sum, const float* output, std::int32_t head_dim);
  // out = output / sum.
  void (*finish)(const attention_state& state, std::int32_t head_dim, float* out);

  // The index of the largest value, the first of equals. NaN is never chosen; 0 where nothing exceeds
  // -infinity.
  std::int32_t (*arg_max)(const float* values, std::int32_t count);
};

}  // namespace troupe::kernels
