#include "runtime/executor/cpu/paged_attention.hpp"

#include <algorithm>

namespace troupe {

using kernels::max_attend_queries;
using kernels::stretch_tokens;
using kernels::tile_tokens;

paged_attention::paged_attention(const kernels::kernel_table& kernels, const model_config& config,
                                 std::int32_t block_size, std::int32_t threads)
    : kernels_(kernels),
      num_kv_heads_(config.num_kv_heads),
      group_(config.num_heads / config.num_kv_heads),
      head_dim_(config.head_dim) {
  const auto in_item = static_cast<std::size_t>(rows_per_item_ * group_);
  const auto at_once = static_cast<std::size_t>(max_attend_queries);
  const auto dims = static_cast<std::size_t>(head_dim_);
  scratch_.resize(static_cast<std::size_t>(threads));
  for (scratch& space : scratch_) {
    space.queries.reserve(in_item);
    space.states.resize(in_item);
    space.outputs.resize(in_item * dims);
    space.scores.resize(at_once * stretch_tokens);
    space.partial.resize(at_once * dims);
    space.codes.resize(at_once * static_cast<std::size_t>(kernels::code_stride(head_dim_)));
    // f16 is the larger of the types.
    if (block_size < tile_tokens) {
      space.gathered.resize(kernels::stretch_tiles * kernels::tile_bytes(kernels::kv_dtype::f16, head_dim_));
    }
  }
}

void paged_attention::plan(const device_batch& batch) {
  item_begin_.clear();
  std::int64_t items = 0;
  for (const sequence_rows& sequence : batch.sequences) {
    item_begin_.push_back(items);
    items +=
        static_cast<std::int64_t>((sequence.num_rows + rows_per_item_ - 1) / rows_per_item_) * num_kv_heads_;
  }
  item_begin_.push_back(items);
}

void paged_attention::run(thread_team& team, std::int32_t member, const device_batch& batch,
                          const kv_pool& pool, std::int32_t layer, const float* queries,
                          std::size_t query_stride, float* out, std::size_t out_stride) {
  const context in{batch, pool, layer, queries, query_stride, out, out_stride};
  scratch& space = scratch_[static_cast<std::size_t>(member)];
  for (std::int64_t item = team.claim(1); item < item_begin_.back(); item = team.claim(1)) {
    attend_item(space, in, item);
  }
}

void paged_attention::attend_item(scratch& space, const context& in, std::int64_t item) {
  const auto next = std::upper_bound(item_begin_.begin(), item_begin_.end(), item);
  const auto index = static_cast<std::size_t>(next - item_begin_.begin()) - 1;
  const sequence_rows& sequence = in.batch.sequences[index];
  const table_view table = in.batch.table(index);
  const auto within = static_cast<std::int32_t>(item - item_begin_[index]);
  const std::int32_t kv_head = within % num_kv_heads_;
  list_queries(space, sequence, within / num_kv_heads_ * rows_per_item_, kv_head);
  attend_queries(space, in, table, kv_head);
}

void paged_attention::list_queries(scratch& space, const sequence_rows& sequence, std::int32_t begin,
                                   std::int32_t kv_head) {
  space.queries.clear();
  for (std::int32_t row = begin; row < std::min(begin + rows_per_item_, sequence.num_rows); ++row)
    for (std::int32_t head = 0; head < group_; ++head)
      space.queries.push_back({sequence.first_row + row, kv_head * group_ + head});
}

// All queries of the item pass over one stretch after another: its keys and values come from afar once.
void paged_attention::attend_queries(scratch& space, const context& in, table_view table,
                                     std::int32_t kv_head) {
  const auto position = [&in](const query& of) {
    return in.batch.positions[static_cast<std::size_t>(of.row)];
  };
  for (std::size_t i = 0; i < space.queries.size(); ++i)
    space.states[i] = {space.outputs.data() + i * static_cast<std::size_t>(head_dim_), 0, 0};
  const std::int32_t last = position(space.queries.back());
  for (std::int32_t first = 0; first <= last; first += stretch_tokens) {
    const std::byte* tiles[kernels::stretch_tiles];
    find_tiles(space, in, table, kv_head, first, last + 1, tiles);
    // Rows ascend in position, so those that see this stretch are the last ones.
    std::size_t begin = 0;
    while (position(space.queries[begin]) < first) ++begin;
    while (begin < space.queries.size())
      begin += static_cast<std::size_t>(attend_stretch(space, in, tiles, begin, first));
  }
  for (std::size_t i = 0; i < space.queries.size(); ++i) {
    const query& of = space.queries[i];
    float* out = in.out + static_cast<std::size_t>(of.row) * in.out_stride + of.head * head_dim_;
    kernels_.finish(space.states[i], head_dim_, out);
  }
}

void paged_attention::find_tiles(scratch& space, const context& in, table_view table, std::int32_t kv_head,
                                 std::int32_t first, std::int32_t end, const std::byte** tiles) {
  const std::int32_t block_size = in.pool.layout().block_size;
  const std::int32_t tokens = std::min(end - first, stretch_tokens);
  for (std::int32_t t = 0; t * tile_tokens < tokens; ++t) {
    const std::int32_t token = first + t * tile_tokens;
    if (in.pool.shares_tiles()) {
      tiles[t] = gather_tile(space, in, table, kv_head, token, first + tokens);
      continue;
    }
    const std::int32_t block = table[static_cast<std::size_t>(token / block_size)];
    tiles[t] = in.pool.tile(block, token % block_size, in.layer, kv_head);
  }
}

std::int32_t paged_attention::attend_stretch(scratch& space, const context& in, const std::byte* const* tiles,
                                             std::size_t begin, std::int32_t first_token) {
  const auto left = static_cast<std::int32_t>(space.queries.size() - begin);
  const std::int32_t count = std::min(left, kernels_.queries_at_once);
  const query* queries = space.queries.data() + begin;
  kernels::attention_state* states = space.states.data() + begin;
  kernels::attend_arguments arguments{};
  for (std::int32_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(queries[i].row);
    arguments.queries[i] = in.queries + row * in.query_stride + queries[i].head * head_dim_;
    arguments.limits[i] = std::min(in.batch.positions[row] + 1 - first_token, stretch_tokens);
    arguments.outputs[i] = first_token == 0 ? states[i].output : space.partial.data() + i * head_dim_;
  }
  arguments.tiles = tiles;
  arguments.num_queries = count;
  arguments.head_dim = head_dim_;
  arguments.scores = space.scores.data();
  arguments.codes = space.codes.data();
  kernels_.kv(in.pool.dtype()).attend(arguments);
  for (std::int32_t i = 0; i < count; ++i) {
    if (first_token == 0) {
      states[i].maximum = arguments.maxima[i];
      states[i].sum = arguments.sums[i];
    } else {
      kernels_.merge(states[i], arguments.maxima[i], arguments.sums[i], arguments.outputs[i], head_dim_);
    }
  }
  return count;
}

// The tokens [first, end) of one KV head, 16 at most, side by side in a tile of the work space.
const std::byte* paged_attention::gather_tile(scratch& space, const context& in, table_view table,
                                              std::int32_t kv_head, std::int32_t first, std::int32_t end) {
  const std::int32_t block_size = in.pool.layout().block_size;
  const std::size_t bytes = kernels::tile_bytes(in.pool.dtype(), head_dim_);
  std::byte* tile =
      space.gathered.data() + static_cast<std::size_t>(first % stretch_tokens / tile_tokens) * bytes;
  for (std::int32_t token = first; token < std::min(first + tile_tokens, end); ++token) {
    const std::int32_t block = table[static_cast<std::size_t>(token / block_size)];
    const std::int32_t offset = token % block_size;
    kernels::copy_token(in.pool.dtype(), head_dim_, in.pool.tile(block, offset, in.layer, kv_head),
                        in.pool.place(block, offset), tile, token - first);
  }
  return tile;
}

}  // namespace troupe
