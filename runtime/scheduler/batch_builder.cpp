#include "runtime/scheduler/batch_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace troupe {

namespace {

void add_slots(step_batch& batch, const sequence_rows& rows, std::int32_t first_position,
               std::int32_t block_size) {
  const std::int32_t* table = batch.block_tables.data() + rows.table_offset;
  std::int32_t block = first_position / block_size;
  std::int32_t offset = first_position % block_size;
  for (std::int32_t i = 0; i < rows.num_rows; ++i) {
    batch.slots.push_back(table[block] * block_size + offset);
    if (++offset == block_size) {
      offset = 0;
      ++block;
    }
  }
}

void add_sample(step_batch& batch, const sequence& who, std::int32_t index, std::int32_t row) {
  sample_row& sample = batch.samples.emplace_back();
  sample.sequence = index;
  sample.row = row;
  sample.position = who.num_tokens();
  sample.num_generated = who.num_generated();
  sample.sampling = who.sampling;
  sample.prompt_length = who.prompt_length;
  if (who.sampling->needs_history()) sample.history = who.tokens;
}

// The rows [first position, first position + num_rows) whose successor is a prompt token not yet looked at.
void add_prompt_logprobs(step_batch& batch, const sequence& who, std::int32_t index,
                         const sequence_rows& rows) {
  if (!who.sampling->prompt_logprobs) return;
  const auto collected = static_cast<std::int32_t>(who.prompt_logprobs.size());
  const std::int32_t end = std::min(who.num_computed + rows.num_rows, who.prompt_length - 1);
  for (std::int32_t position = std::max(who.num_computed, collected); position < end; ++position) {
    batch.prompt_logprobs.push_back({index, rows.first_row + position - who.num_computed,
                                     who.tokens[static_cast<std::size_t>(position) + 1],
                                     *who.sampling->prompt_logprobs});
  }
}

void add_sequence(step_batch& batch, const planned_rows& planned, std::int32_t block_size) {
  const sequence& who = *planned.who;
  const auto index = static_cast<std::int32_t>(batch.sequences.size());
  const sequence_rows rows{who.id, batch.num_rows(), planned.num_rows, planned.table_offset,
                           planned.table_length};
  batch.sequences.push_back(rows);
  const auto first = who.tokens.begin() + who.num_computed;
  batch.tokens.insert(batch.tokens.end(), first, first + planned.num_rows);
  for (std::int32_t i = 0; i < planned.num_rows; ++i) batch.positions.push_back(who.num_computed + i);
  add_slots(batch, rows, who.num_computed, block_size);
  add_prompt_logprobs(batch, who, index, rows);
  if (planned.samples()) add_sample(batch, who, index, batch.num_rows() - 1);
}

}  // namespace

step_batch_ptr build_batch(std::uint64_t step, std::span<const planned_rows> planned,
                           const std::vector<std::int32_t>& block_tables, std::int32_t block_size) {
  auto batch = std::make_shared<step_batch>();
  batch->step = step;
  std::size_t num_rows = 0;
  for (const planned_rows& rows : planned) num_rows += static_cast<std::size_t>(rows.num_rows);
  batch->tokens.reserve(num_rows);
  batch->positions.reserve(num_rows);
  batch->slots.reserve(num_rows);
  batch->sequences.reserve(planned.size());
  batch->samples.reserve(planned.size());
  batch->block_tables = block_tables;
  for (const planned_rows& rows : planned) add_sequence(*batch, rows, block_size);
  return batch;
}

}  // namespace troupe
