#include "runtime/executor/warm_up/scratch_batch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/blocks_for.hpp"

namespace troupe {
namespace {

// Builds one scratch step: every block table names the scratch block alone.
class scratch_builder {
 public:
  scratch_builder(const kv_layout& layout, const executor_limits& limits, std::int32_t vocab_size)
      : layout_(layout), limits_(limits), vocab_size_(vocab_size) {
    sampling_->temperature = 0.0F;
  }

  // `num_rows` rows after `context` tokens, cut to the limits; the last `num_samples` are sampled.
  void add_sequence(std::int64_t context, std::int32_t num_rows, std::int32_t num_samples = 1) {
    const auto sequence = static_cast<std::int32_t>(batch_.sequences.size());
    num_rows = std::min({num_rows, limits_.max_rows - batch_.num_rows(), limits_.max_model_len});
    if (num_rows < 1 || sequence >= limits_.max_sequences) return;
    const auto first =
        static_cast<std::int32_t>(std::min<std::int64_t>(context, limits_.max_model_len - num_rows));
    sequence_rows rows;
    rows.first_row = batch_.num_rows();
    rows.num_rows = num_rows;
    rows.table_offset = static_cast<std::int32_t>(batch_.block_tables.size());
    rows.table_length = blocks_for(first + num_rows, layout_.block_size);
    batch_.block_tables.insert(batch_.block_tables.end(), static_cast<std::size_t>(rows.table_length),
                               scratch_block(layout_));
    for (std::int32_t position = first; position < first + num_rows; ++position)
      add_row(position, first == 0);
    batch_.sequences.push_back(rows);
    for (std::int32_t row = std::max(num_rows - num_samples, 0); row < num_rows; ++row) {
      sample_row sample;
      sample.sequence = sequence;
      sample.row = rows.first_row + row;
      sample.position = first + row + 1;
      sample.sampling = sampling_;
      sample.prompt_length = sample.position;
      batch_.samples.push_back(std::move(sample));
    }
  }

  void sample_at_random() { sampling_->temperature = 1.0F; }

  device_batch finish() { return std::move(batch_); }

 private:
  // The first rows fill the scratch block, the others write nowhere: no two rows write the same slot, and
  // none one that is read as what earlier steps have stored: devices read that early.
  void add_row(std::int32_t position, bool may_write) {
    const std::int32_t row = batch_.num_rows();
    const bool writes = may_write && row < layout_.block_size;
    batch_.slots.push_back(writes ? scratch_block(layout_) * layout_.block_size + row : no_slot);
    batch_.tokens.push_back(position % vocab_size_);
    batch_.positions.push_back(position);
  }

  kv_layout layout_;
  executor_limits limits_;
  std::int32_t vocab_size_;
  std::shared_ptr<sampling_params> sampling_ = std::make_shared<sampling_params>();
  device_batch batch_;
};

void add_unified(scratch_builder& batch, const unified_bucket& shape, const kv_layout& layout,
                 const executor_limits& limits) {
  const std::int32_t wanted = shape.causal ? std::max(1, shape.query / 2) : shape.query;
  const std::int32_t sequences = std::max(1, std::min(wanted, limits.max_sequences));
  const std::int64_t context = context_of(shape) / sequences * layout.block_size;
  for (std::int32_t i = 0; i < sequences; ++i)
    batch.add_sequence(context, shape.query / sequences + (i < shape.query % sequences ? 1 : 0));
}

}  // namespace

device_batch scratch_batch(const warm_up_item& item, const kv_layout& layout, const executor_limits& limits,
                           std::int32_t vocab_size) {
  scratch_builder batch(layout, limits, vocab_size);
  const std::int64_t context = std::int64_t{item.shape.blocks} * layout.block_size;
  const bool is_decode = item.phase == warm_up_phase::tuning && item.shape.query == 1;
  switch (is_decode ? warm_up_phase::decode : item.phase) {
    case warm_up_phase::prompt:
    case warm_up_phase::tuning:
      for (std::int32_t i = 0; i < item.shape.batch; ++i) batch.add_sequence(context, item.shape.query);
      break;
    case warm_up_phase::decode:  // its own row is in the last of its blocks
      for (std::int32_t i = 0; i < item.shape.batch; ++i)
        batch.add_sequence(std::max<std::int64_t>(context - item.shape.query, 0), item.shape.query);
      break;
    case warm_up_phase::unified:
      add_unified(batch, item.unified, layout, limits);
      break;
    case warm_up_phase::verification:
      if (item.is_random) batch.sample_at_random();
      batch.add_sequence(item.context, item.shape.query, item.shape.query);
      break;
    case warm_up_phase::sampler:
      break;
  }
  return batch.finish();
}

device_batch profiling_batch(const kv_layout& layout, const executor_limits& limits,
                             std::int32_t vocab_size) {
  scratch_builder batch(layout, limits, vocab_size);
  add_unified(batch, {.query = limits.max_rows}, layout, limits);
  device_batch out = batch.finish();
  auto random = std::make_shared<sampling_params>();
  random->top_p = 0.9F;
  for (sample_row& sample : out.samples) sample.sampling = random;
  return out;
}

}  // namespace troupe
