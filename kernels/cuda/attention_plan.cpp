#include <algorithm>

#include "kernels/cuda/paged_attention.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr std::int32_t pairs_of_a_split = 16;
constexpr std::int32_t pairs_of_a_chunk = 64;
constexpr std::int32_t tokens_of_a_stretch = 256;

std::int32_t parts(std::int32_t whole, std::int32_t size) { return (whole - 1) / size + 1; }

}  // namespace

attention_plan::attention_plan(std::int32_t group, std::int32_t partial_rows, std::int32_t max_items)
    : group_(group), max_partial_rows_(partial_rows) {
  split_.reserve(static_cast<std::size_t>(max_items));
  chunks_.reserve(static_cast<std::size_t>(max_items));
}

void attention_plan::clear() {
  split_.clear();
  chunks_.clear();
  used_rows_ = 0;
}

void attention_plan::add(std::int32_t sequence, std::int32_t num_rows, std::int32_t context) {
  const std::int32_t pairs = num_rows * group_;
  const std::int32_t stretches = parts(context, tokens_of_a_stretch);
  // Split, the KV memory is read once for 16 queries instead of for 64, the second time from the L2 cache:
  // for up to four times 16 the context's parallelism is worth more.
  const bool few = num_rows == 1 || pairs <= pairs_of_a_chunk;
  // In 64 bits: contexts and rows are as large as requests make them.
  const std::int64_t room = stretches > 1 ? static_cast<std::int64_t>(stretches) * pairs : 0;
  if (!few || used_rows_ + room > max_partial_rows_) {
    for (std::int32_t pair = 0; pair < pairs; pair += pairs_of_a_chunk)
      chunks_.push_back({sequence, pair, 0, 0});
    return;
  }
  for (std::int32_t pair = 0; pair < pairs; pair += pairs_of_a_split) {
    for (std::int32_t stretch = 0; stretch < stretches; ++stretch) {
      split_.push_back({sequence, pair, stretch, used_rows_});
    }
    if (stretches > 1) used_rows_ += stretches * std::min(pairs_of_a_split, pairs - pair);
  }
}

}  // namespace troupe::kernels::cuda
