// Causal attention of a step's rows over the paged KV memory of a device: decodes, prefill chunks and the
// rows of drafts that are verified.
//
// Two kernels, one arithmetic (attention_tile.cuh): a query's bits are the same from both, so the plan may
// choose by speed alone, and a decode's bits are those that a prefill, a verification or any other batch
// would give its row.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/paged_kv.hpp"

namespace troupe::kernels::cuda {

// How queries and contexts are divided among items.
inline constexpr std::int32_t pairs_of_a_split = 16;
inline constexpr std::int32_t pairs_of_a_chunk = 64;
inline constexpr std::int32_t tokens_of_a_stretch = 256;

// A query is a pair of a sequence's row and one of the query heads of a KV head: pair p of a sequence is its
// row p / group and, of KV head h, query head h * group + p % group.
struct alignas(16) attention_item {
  std::int32_t table = 0;        // where its sequence's block table begins, behind block_tables
  std::int32_t first_pair = 0;   // a multiple of pairs_of_a_split or _chunk
  std::int32_t stretch = 0;      // split: which stretch of the context
  std::int32_t partial_row = 0;  // split: where the item's tile of pairs has its room in the work space
  std::int32_t first_row = 0;    // of the sequence
  std::int32_t pairs = 0;        // of the item: up to pairs_of_a_split or _chunk
  std::int32_t context = 0;      // tokens that the last of them sees
  std::int32_t stored = 0;       // tokens of the context that were there before this step
};

// A sequence of a step: rows, one at least, the last of which sees `context` tokens.
struct attended_sequence {
  std::int32_t table = 0;  // where its block table begins
  std::int32_t first_row = 0;
  std::int32_t num_rows = 1;
  std::int32_t context = 1;
};
// At most `most` of its pairs from `first` on, of the context's first stretch.
attention_item item_of(const attended_sequence& sequence, std::int32_t group, std::int32_t first,
                       std::int32_t most);

// Items at most of a sequence that is split, for each stretch of its context.
constexpr std::int32_t most_items_of_a_stretch(std::int32_t group) {
  return (std::max(group, pairs_of_a_chunk) - 1) / pairs_of_a_split + 1;
}

// Items of a sequence with one row and so many tokens, if it is split.
std::int64_t split_items_of_a_row(std::int32_t group, std::int64_t context);

// What the two kernels have to do in a step: the same for all layers and KV heads. Filled on the host from
// lengths that it knows; the items are copied to the device with the rest of the step.
class attention_plan {
 public:
  // `group`: query heads of a KV head. `partial_rows`: what the work space has room for. Room is taken for so
  // many items that no step allocates.
  attention_plan(std::int32_t group, std::int32_t partial_rows, std::int32_t max_items);

  void clear();
  // A sequence whose block table begins at entry `table`, and whose rows are behind those of the one before:
  // one row at least, the last of which sees `context` tokens. Few queries are split along the context; many,
  // or those for which the work space has no room, go in chunks.
  void add(std::int32_t table, std::int32_t num_rows, std::int32_t context);

  std::span<const attention_item> split() const { return split_; }
  std::span<const attention_item> chunks() const { return chunks_; }
  std::int32_t partial_rows() const { return used_rows_; }

 private:
  std::int32_t group_;
  std::int32_t max_partial_rows_;
  std::int32_t used_rows_ = 0;
  std::int32_t rows_ = 0;  // of the sequences so far
  std::vector<attention_item> split_;
  std::vector<attention_item> chunks_;
};

// Results of single stretches, until the last of a query's is there. Of one step at a time, for all layers.
struct attention_workspace {
  float* outputs = nullptr;         // [partial_rows][kv_heads][head_dim]
  float* states = nullptr;          // [partial_rows][kv_heads][2]: maximum, sum
  std::int32_t* arrived = nullptr;  // [partial_rows][kv_heads]: zeroed once; each launch leaves it so
};

// Pointers are to device memory. Rows of a sequence are contiguous, positions one after the other; a row sees
// the tokens [0, position] of its sequence. Rows of no item are not written.
struct attention_arguments {
  paged_kv kv;
  attention_workspace workspace;
  const void* queries = nullptr;  // [rows][heads][head_dim], rotated, rows query_stride elements apart
  void* out = nullptr;            // [rows][heads][head_dim], rows out_stride elements apart
  std::int64_t query_stride = 0;  // multiples of 8; both pointers aligned to 16 bytes
  std::int64_t out_stride = 0;
  const std::int32_t* positions = nullptr;     // [rows]
  const std::int32_t* block_tables = nullptr;  // what the items' tables are counted from
  const attention_item* items = nullptr;
  const std::int32_t* num_items =
      nullptr;  // one; on the device, so that a graph may be launched with another plan
  std::int32_t layer = 0;
  std::int32_t group = 1;  // query heads of a KV head
  float scale = 1.0F;      // of the scores: head_dim ** -0.5 in most models
};

// Whether there are kernels for heads of so many elements: a multiple of 16 up to 256.
constexpr bool can_attend(std::int32_t head_dim) {
  return head_dim >= 16 && head_dim <= 256 && head_dim % 16 == 0;
}

// Whether there are kernels for it. `type` is that of queries and outputs: a 16-bit KV memory is of the same,
// an 8-bit one goes with either. block_size is 8, 16, 32 or 64.
bool can_attend(const paged_kv& kv, element_type type);

// The most blocks that such a memory may have, whatever its num_blocks: what the kernels count in 32 bits are
// slots, and eights of a layer's elements.
std::int32_t most_kv_blocks(const paged_kv& kv);

// Elements of a head that the kernels are compiled for, which leave out what is more than head_dim.
constexpr std::int32_t attention_dims(std::int32_t head_dim) { return (head_dim + 63) / 64 * 64; }

// Shared memory that a block of attend_chunks() takes, in bytes: keys and values of a tile of 64 tokens, 16
// bits an element, and for each of its 128 threads outputs of four.
constexpr std::int32_t chunk_shared_bytes(std::int32_t head_dim) {
  constexpr std::int32_t tokens = 64, threads = 128;
  const std::int32_t dims = attention_dims(head_dim);
  return tokens * dims * 2 * 2 + (dims / 8 + 1) * threads * 16;
}

// Blocks of attend_split() that a multiprocessor holds at a time: what the registers of a tile leave room
// for.
constexpr std::int32_t split_residents(std::int32_t head_dim) { return head_dim <= 128 ? 3 : 2; }

// Few queries of a sequence, its context split into stretches of 256 tokens that blocks compute independently
// (FlashDecoding, pytorch.org/blog/flash-decoding; all query heads of a KV head together). The block that
// finishes a query's last stretch folds them in order, so no second launch is needed. `blocks`: at most so
// many a KV head run, each taking items in turn; what the items number where that is known, for a graph the
// most that such a step has, or what the device holds at a time: with more, the last few would run when it is
// nearly empty.
void attend_split(const attention_arguments& arguments, element_type type, std::int32_t blocks,
                  cudaStream_t stream);

// Many queries of a sequence: a block walks the whole context for 64 of them (FlashAttention-2, arXiv
// 2307.08691).
void attend_chunks(const attention_arguments& arguments, element_type type, std::int32_t blocks,
                   cudaStream_t stream);

}  // namespace troupe::kernels::cuda
