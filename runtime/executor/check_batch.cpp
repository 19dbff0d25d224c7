#include "runtime/executor/check_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

bool within(std::int64_t value, std::int64_t limit) { return value >= 0 && value < limit; }

void check_table(const device_batch& batch, std::size_t index, std::int64_t blocks) {
  const sequence_rows& sequence = batch.sequences[index];
  const auto own = static_cast<std::int64_t>(batch.block_tables.size());
  bool is_there =
      sequence.table_offset >= 0 && sequence.table_offset + std::int64_t{sequence.table_length} <= own;
  if (!batch.tables.empty())
    is_there = batch.tables.size() == batch.sequences.size() &&
               (sequence.table_length == 0 || batch.tables[index] != nullptr);
  require(is_there && sequence.table_length >= 0, "step: a sequence's block table is not in the batch");
  for (const std::int32_t block : batch.table(index))
    require(block == no_block || within(block, blocks), "step: a block is outside the KV memory");
}

void check_sequence(const device_batch& batch, std::size_t index, const kv_layout& layout) {
  const sequence_rows& sequence = batch.sequences[index];
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  require(sequence.first_row >= 0 && sequence.num_rows >= 0 &&
              sequence.first_row + std::int64_t{sequence.num_rows} <= rows,
          "step: a sequence's rows are not in the batch");
  check_table(batch, index, std::int64_t{scratch_block(layout)} + 1);
  for (std::int32_t i = 0; i < sequence.num_rows; ++i) {
    const auto row = static_cast<std::size_t>(sequence.first_row + i);
    require(i == 0 || batch.positions[row] > batch.positions[row - 1],
            "step: a sequence's positions do not ascend");
    require(batch.positions[row] / layout.block_size < sequence.table_length,
            "step: a block table is too short");
  }
  if (sequence.num_rows == 0) return;
  const auto last = static_cast<std::size_t>(sequence.first_row + sequence.num_rows - 1);
  const auto read =
      batch.table(index).first(static_cast<std::size_t>(batch.positions[last] / layout.block_size) + 1);
  require(std::ranges::find(read, no_block) == read.end(), "step: a block table has a gap");
}

}  // namespace

void check_batch(const device_batch& batch, const model_config& config, const executor_limits& limits,
                 const kv_layout& layout) {
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  require(rows <= limits.max_rows, "step: too many rows");
  require(static_cast<std::int64_t>(batch.sequences.size()) <= limits.max_sequences,
          "step: too many sequences");
  require(batch.positions.size() == batch.tokens.size() && batch.slots.size() == batch.tokens.size(),
          "step: tokens, positions and slots differ in number");
  const std::int64_t blocks = std::int64_t{scratch_block(layout)} + 1;
  for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
    require(within(batch.tokens[row], config.vocab_size), "step: a token is not in the vocabulary");
    require(within(batch.positions[row], limits.max_model_len),
            "step: a position is beyond the longest context");
    require(batch.slots[row] == no_slot || within(batch.slots[row], blocks * layout.block_size),
            "step: a slot is outside the KV memory");
  }
  for (const drawn_row& fed : batch.fed)
    require(within(fed.row, rows) && fed.sample >= 0, "step: a row that is fed is not in the batch");
  for (const block_copy& copy : batch.copies) {
    require(within(copy.from, layout.num_blocks) && within(copy.to, layout.num_blocks),
            "step: a copied block is outside the KV memory");
  }
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) check_sequence(batch, i, layout);
  const auto sequences = static_cast<std::int64_t>(batch.sequences.size());
  for (const sample_row& sample : batch.samples) {
    require(within(sample.row, rows) && within(sample.sequence, sequences) && sample.sampling != nullptr,
            "step: a sample row is not in the batch");
  }
  for (const prompt_logprob_row& prompt : batch.prompt_logprobs) {
    require(within(prompt.row, rows) && within(prompt.next_token, config.vocab_size),
            "step: a prompt row is not in the batch");
  }
}

void check_result(const device_batch& batch, const step_result& result) {
  if (result.tokens.size() != batch.samples.size() ||
      result.prompt_logprobs.size() != batch.prompt_logprobs.size())
    throw std::logic_error(
        fmt::format("the executor sampled {} of {} rows", result.tokens.size(), batch.samples.size()));
}

}  // namespace troupe
