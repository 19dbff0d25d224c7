#include <algorithm>

#include "kernels/cuda/attention/paged_attention.hpp"

namespace troupe::kernels::cuda {
namespace {

std::int32_t parts(std::int32_t whole, std::int32_t size) { return (whole - 1) / size + 1; }

}  // namespace

attention_item item_of(const attended_sequence& sequence, std::int32_t group, std::int32_t first,
                       std::int32_t most) {
  attention_item item;
  item.table = sequence.table;
  item.first_pair = first;
  item.first_row = sequence.first_row;
  item.pairs = std::min(most, sequence.num_rows * group - first);
  item.stored = sequence.context - sequence.num_rows;
  item.context = item.stored + (first + item.pairs - 1) / group + 1;
  return item;
}

std::int64_t split_items_of_a_row(std::int32_t group, std::int64_t context) {
  return parts(group, pairs_of_a_split) * ((context - 1) / tokens_of_a_stretch + 1);
}

attention_plan::attention_plan(std::int32_t group, std::int32_t partial_rows, std::int32_t max_items)
    : group_(group), max_partial_rows_(partial_rows) {
  split_.reserve(static_cast<std::size_t>(max_items));
  chunks_.reserve(static_cast<std::size_t>(max_items));
}

void attention_plan::clear() {
  split_.clear();
  chunks_.clear();
  used_rows_ = 0;
  rows_ = 0;
}

void attention_plan::add(std::int32_t table, std::int32_t num_rows, std::int32_t context) {
  const std::int32_t pairs = num_rows * group_;
  const std::int32_t stretches = parts(context, tokens_of_a_stretch);
  // Split, the KV memory is read once for 16 queries instead of for 64, the second time from the L2 cache:
  // for up to four times 16 the context's parallelism is worth more.
  const bool few = num_rows == 1 || pairs <= pairs_of_a_chunk;
  // In 64 bits: contexts and rows are as large as requests make them.
  const std::int64_t room = stretches > 1 ? static_cast<std::int64_t>(stretches) * pairs : 0;
  const attended_sequence added{table, rows_, num_rows, context};
  rows_ += num_rows;
  if (!few || used_rows_ + room > max_partial_rows_) {
    for (std::int32_t pair = 0; pair < pairs; pair += pairs_of_a_chunk)
      chunks_.push_back(item_of(added, group_, pair, pairs_of_a_chunk));
    return;
  }
  for (std::int32_t pair = 0; pair < pairs; pair += pairs_of_a_split) {
    attention_item item = item_of(added, group_, pair, pairs_of_a_split);
    item.partial_row = used_rows_;
    for (item.stretch = 0; item.stretch < stretches; ++item.stretch) split_.push_back(item);
    if (stretches > 1) used_rows_ += stretches * item.pairs;
  }
}

}  // namespace troupe::kernels::cuda
