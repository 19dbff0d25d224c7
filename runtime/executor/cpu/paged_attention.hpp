// Causal attention of a step's rows over the paged KV memory: which thread computes which rows, and in what
// order the stretches of a context are combined. The order is fixed by position alone.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "runtime/executor/cpu/kv_pool.hpp"
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/threads/thread_team.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

class paged_attention {
 public:
  // `threads` members take part; each has its work space from the start.
  paged_attention(const kernels::kernel_table& kernels, const model_config& config, std::int32_t block_size,
                  std::int32_t threads);
  // Room for steps of so many sequences.
  void reserve(std::int32_t sequences) { item_begin_.reserve(static_cast<std::size_t>(sequences) + 1); }

  // Divides the batch into work items; call once a step, before the team starts.
  void plan(const device_batch& batch);

  // Inside a team's task, by every member: `queries` and `out` are [rows] of heads * head_dim floats at their
  // strides; queries are rotated and scaled. Ends before a barrier: the caller places one after it.
  void run(thread_team& team, std::int32_t member, const device_batch& batch, const kv_pool& pool,
           std::int32_t layer, const float* queries, std::size_t query_stride, float* out,
           std::size_t out_stride);

 private:
  struct query {
    std::int32_t row;
    std::int32_t head;
  };
  // One thread's work space: for the queries of an item, and for max_attend_queries of them at once.
  struct scratch {
    std::vector<query> queries;
    std::vector<kernels::attention_state> states;  // [queries]
    std::vector<float> outputs;                    // [queries][head_dim]: running
    std::vector<float> scores;                     // [at once][stretch_tokens]
    std::vector<float> partial;                    // [at once][head_dim]: of one stretch
    std::vector<std::int16_t> codes;               // [at once][code_stride]
    std::vector<std::byte> gathered;  // [stretch_tiles] tiles, where blocks are smaller than tiles
  };
  struct context {
    const device_batch& batch;
    const kv_pool& pool;
    std::int32_t layer;
    const float* queries;
    std::size_t query_stride;
    float* out;
    std::size_t out_stride;
  };
  using table_view = std::span<const std::int32_t>;
  const std::byte* gather_tile(scratch& space, const context& in, table_view table, std::int32_t kv_head,
                               std::int32_t first, std::int32_t end);
  void attend_item(scratch& space, const context& in, std::int64_t item);
  void list_queries(scratch& space, const sequence_rows& sequence, std::int32_t begin, std::int32_t kv_head);
  void attend_queries(scratch& space, const context& in, table_view table, std::int32_t kv_head);
  // Of tokens from `first` on, up to `end` or the end of the stretch.
  void find_tiles(scratch& space, const context& in, table_view table, std::int32_t kv_head,
                  std::int32_t first, std::int32_t end, const std::byte** tiles);
  // The item's queries from number `begin` on, at most as many as the kernel takes at once; gives how many.
  std::int32_t attend_stretch(scratch& space, const context& in, const std::byte* const* tiles,
                              std::size_t begin, std::int32_t first_token);

  const kernels::kernel_table& kernels_;
  std::int32_t num_kv_heads_;
  std::int32_t group_;  // query heads of one KV head
  std::int32_t head_dim_;
  std::int32_t rows_per_item_ = 8;
  std::vector<std::int64_t> item_begin_;  // [sequences + 1]
  std::vector<scratch> scratch_;          // [threads]
};

}  // namespace troupe
