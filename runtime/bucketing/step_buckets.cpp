#include "runtime/bucketing/step_buckets.hpp"

#include <algorithm>

#include "runtime/blocks_for.hpp"

namespace troupe {
namespace {

// Context blocks of a sequence: before a prompt's first row, up to a decode's own.
std::int32_t context_blocks(const device_batch& batch, const sequence_rows& sequence,
                            std::int32_t block_size) {
  const std::int32_t first = batch.positions[static_cast<std::size_t>(sequence.first_row)];
  return blocks_for(sequence.num_rows == 1 ? first + 1 : first, block_size);
}

}  // namespace

step_shape shape_of(const device_batch& batch, std::int32_t block_size) {
  step_shape shape;
  for (const sequence_rows& sequence : batch.sequences) {
    if (sequence.num_rows == 0) continue;
    bucket& part = sequence.num_rows == 1 ? shape.decode : shape.prompt;
    ++part.batch;
    part.query = std::max(part.query, sequence.num_rows);
    part.blocks = std::max(part.blocks, context_blocks(batch, sequence, block_size));
  }
  return shape;
}

unified_bucket unified_shape_of(const device_batch& batch, std::int32_t block_size,
                                std::vector<std::int32_t>& blocks) {
  unified_bucket shape;
  blocks.clear();
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const sequence_rows& sequence = batch.sequences[i];
    if (sequence.num_rows == 0) continue;
    const bool is_prompt = sequence.num_rows > 1;
    shape.query += sequence.num_rows;
    shape.causal = shape.causal || is_prompt;
    const auto read = static_cast<std::size_t>(context_blocks(batch, sequence, block_size));
    for (const std::int32_t block : batch.table(i).first(read)) {
      blocks.push_back(block);
      if (is_prompt) blocks.push_back(block);  // all of its rows read it
    }
  }
  std::sort(blocks.begin(), blocks.end());
  for (auto block = blocks.begin(); block != blocks.end();) {
    const auto next = std::find_if(block, blocks.end(), [&](std::int32_t other) { return other != *block; });
    ++(next - block > 1 ? shape.shared_blocks : shape.unique_blocks);
    block = next;
  }
  return shape;
}

step_buckets::step_buckets(const bucket_plan& plan, std::int32_t block_size)
    : has_any_(plan.strategy != bucketing_strategy::none),
      is_unified_(plan.strategy == bucketing_strategy::unified),
      block_size_(block_size),
      prompts_(plan.prompt),
      decodes_(plan.decode),
      unified_(plan.unified) {}

step_placement step_buckets::place(const device_batch& batch) {
  step_placement placement;
  if (!has_any_) return placement;
  const auto look_up = [](const auto& table, const auto& shape, auto& found, auto& beyond) {
    if (const auto* hit = table.find(shape)) {
      found = *hit;
    } else {
      beyond = shape;
    }
  };
  if (is_unified_) {
    const unified_bucket shape = unified_shape_of(batch, block_size_, scratch_);
    if (shape.query > 0) look_up(unified_, shape, placement.unified, placement.unified_beyond);
    return placement;
  }
  const step_shape shape = shape_of(batch, block_size_);
  if (shape.prompt.batch > 0) look_up(prompts_, shape.prompt, placement.prompt, placement.prompt_beyond);
  if (shape.decode.batch > 0) look_up(decodes_, shape.decode, placement.decode, placement.decode_beyond);
  return placement;
}

}  // namespace troupe
