#include "runtime/executor/warm_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

// Builds one batch; hands out the pool's blocks in order.
class scratch_batch {
 public:
  scratch_batch(const kv_layout& layout, std::int32_t vocab_size) : layout_(layout), vocab_size_(vocab_size) {
    sampling_->temperature = 0.0F;
  }

  // Rows at the last `num_rows` of `num_tokens` positions; the last row is sampled.
  void add_sequence(std::int32_t num_tokens, std::int32_t num_rows) {
    const auto sequence = static_cast<std::int32_t>(batch_.sequences.size());
    sequence_rows rows;
    rows.first_row = batch_.num_rows();
    rows.num_rows = num_rows;
    rows.table_offset = static_cast<std::int32_t>(batch_.block_tables.size());
    rows.table_length = (num_tokens + layout_.block_size - 1) / layout_.block_size;
    for (std::int32_t i = 0; i < rows.table_length; ++i) batch_.block_tables.push_back(next_block_ + i);
    for (std::int32_t position = num_tokens - num_rows; position < num_tokens; ++position) add_row(position);
    next_block_ += rows.table_length;
    batch_.sequences.push_back(rows);

    sample_row sample;
    sample.sequence = sequence;
    sample.row = batch_.num_rows() - 1;
    sample.position = num_tokens;
    sample.sampling = sampling_;
    sample.prompt_length = num_tokens;
    batch_.samples.push_back(std::move(sample));
  }

  std::int32_t blocks_left() const { return layout_.num_blocks - next_block_; }
  step_batch_ptr finish() { return std::make_shared<const step_batch>(std::move(batch_)); }

 private:
  void add_row(std::int32_t position) {
    batch_.tokens.push_back(position % vocab_size_);
    batch_.positions.push_back(position);
    batch_.slots.push_back((next_block_ + position / layout_.block_size) * layout_.block_size +
                           position % layout_.block_size);
  }

  kv_layout layout_;
  std::int32_t vocab_size_;
  std::int32_t next_block_ = 0;
  std::shared_ptr<sampling_params> sampling_ = std::make_shared<sampling_params>();
  step_batch batch_;
};

warm_up_item prefill(const kv_layout& layout, const executor_limits& limits, std::int32_t vocab_size) {
  scratch_batch batch(layout, vocab_size);
  std::int32_t rows = 0;
  for (std::int32_t i = 0; i < limits.max_sequences && rows < limits.max_rows && batch.blocks_left() > 0;
       ++i) {
    const std::int32_t length =
        std::min({limits.max_rows - rows, limits.max_model_len, batch.blocks_left() * layout.block_size});
    batch.add_sequence(length, length);
    rows += length;
  }
  return {fmt::format("prefill, {} tokens", rows), batch.finish()};
}

warm_up_item decode(const kv_layout& layout, const executor_limits& limits, std::int32_t vocab_size,
                    std::int32_t batch_size) {
  scratch_batch batch(layout, vocab_size);
  const std::int32_t context = std::min(layout.block_size, limits.max_model_len);
  for (std::int32_t i = 0; i < batch_size; ++i) batch.add_sequence(context, 1);
  return {fmt::format("decode, batch {}", batch_size), batch.finish()};
}

}  // namespace

std::vector<warm_up_item> warm_up_items(const kv_layout& layout, const executor_limits& limits,
                                        std::int32_t vocab_size) {
  const std::int32_t largest = std::min({limits.max_sequences, limits.max_rows, layout.num_blocks});
  if (largest < 1 || limits.max_model_len < 1 || vocab_size < 1) return {};
  std::vector<warm_up_item> items{prefill(layout, limits, vocab_size)};
  for (std::int32_t size = 1; size < largest; size *= 2)
    items.push_back(decode(layout, limits, vocab_size, size));
  items.push_back(decode(layout, limits, vocab_size, largest));
  return items;
}

}  // namespace troupe
