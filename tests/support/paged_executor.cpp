#include "tests/support/paged_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace troupe {

namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::uint64_t stored(token_id token, std::int32_t position) {
  return mix((static_cast<std::uint64_t>(token) << 32U) | static_cast<std::uint64_t>(position));
}

std::uint64_t fold(std::uint64_t hash, std::uint64_t entry) { return mix(hash ^ entry); }

float to_logprob(std::uint64_t hash) { return -static_cast<float>(hash % 1000) / 100.0F; }

token_id to_token(std::uint64_t hash, const sampling_params& params, const std::vector<token_id>& history,
                  std::int32_t vocab) {
  hash = fold(hash, params.seed);
  for (const token_id token : history) hash = fold(hash, static_cast<std::uint64_t>(token));
  return static_cast<token_id>(hash % static_cast<std::uint64_t>(vocab));
}

token_logprobs logprobs_of(token_id token, std::uint64_t hash) {
  token_logprobs logprobs;
  logprobs.token = token;
  logprobs.logprob = to_logprob(hash);
  logprobs.rank = 1;
  return logprobs;
}

}  // namespace

expected_row expect_row(const std::vector<token_id>& tokens, const sampling_params& params,
                        std::int32_t vocab) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    hash = fold(hash, stored(tokens[i], static_cast<std::int32_t>(i)));
  const std::vector<token_id> none;
  return {to_token(hash, params, params.needs_history() ? tokens : none, vocab), to_logprob(hash)};
}

paged_executor::paged_executor(kv_layout layout, std::int32_t vocab)
    : layout_(layout),
      vocab_(vocab),
      memory_(static_cast<std::size_t>(layout.num_blocks) * static_cast<std::size_t>(layout.block_size)) {}

void paged_executor::forward(const device_batch& batch) {
  const auto size = static_cast<std::ptrdiff_t>(layout_.block_size);
  for (const block_copy& copy : batch.copies)
    std::copy_n(memory_.begin() + copy.from * size, size, memory_.begin() + copy.to * size);
  for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
    memory_[static_cast<std::size_t>(batch.slots[row])] = stored(batch.tokens[row], batch.positions[row]);
  }
}

void paged_executor::scribble(const device_batch& batch) {
  for (const std::int32_t slot : batch.slots) memory_[static_cast<std::size_t>(slot)] = 0xbad;
}

std::uint64_t paged_executor::read(std::span<const std::int32_t> table, std::int32_t last_position) const {
  std::uint64_t hash = 0;
  for (std::int32_t position = 0; position <= last_position; ++position) {
    const auto entry = static_cast<std::size_t>(position / layout_.block_size);
    const std::int32_t slot = table[entry] * layout_.block_size + position % layout_.block_size;
    hash = fold(hash, memory_[static_cast<std::size_t>(slot)]);
  }
  return hash;
}

void paged_executor::sample(const device_batch& batch, const step_masks* masks, step_result& result) {
  result.step = batch.step;
  result.tokens.clear();
  result.prompt_logprobs.clear();
  for (const sample_row& row : batch.samples) {
    const auto index = static_cast<std::size_t>(row.sequence);
    const std::uint64_t hash = read(batch.table(index), row.position - 1);
    sampled_token& sampled = result.tokens.emplace_back();
    sampled.id = batch.sequences[index].id;
    sampled.token = to_token(hash, *row.sampling, row.history, vocab_);
    if (masks != nullptr)
      sampled.token = next_allowed(masks->mask_of(result.tokens.size() - 1), sampled.token);
    if (row.sampling->logprobs) sampled.logprobs = logprobs_of(sampled.token, hash);
  }
  for (const prompt_logprob_row& row : batch.prompt_logprobs) {
    const std::int32_t position = batch.positions[static_cast<std::size_t>(row.row)];
    const auto table = batch.table(static_cast<std::size_t>(row.sequence));
    result.prompt_logprobs.push_back(logprobs_of(row.next_token, read(table, position)));
  }
}

std::string batch_fault(const step_batch& batch, std::int32_t block_size, std::int32_t num_blocks,
                        std::int32_t max_rows, std::int32_t max_sequences) {
  const std::int32_t num_rows = batch.num_rows();
  if (num_rows == 0) return "no rows";
  if (num_rows > max_rows) return fmt::format("{} rows, {} allowed", num_rows, max_rows);
  if (batch.sequences.size() > static_cast<std::size_t>(max_sequences)) return "too many sequences";
  if (batch.positions.size() != batch.tokens.size() || batch.slots.size() != batch.tokens.size())
    return "ragged rows";

  std::int32_t next_row = 0;
  std::set<request_id> ids;
  if (batch.tables.size() != batch.sequences.size()) return "a sequence has no table";
  for (std::size_t s = 0; s < batch.sequences.size(); ++s) {
    const sequence_rows& rows = batch.sequences[s];
    if (!ids.insert(rows.id).second) return "a sequence stands there twice";
    if (rows.first_row != next_row || rows.num_rows < 1) return "rows are not contiguous";
    next_row += rows.num_rows;
    for (std::int32_t i = 0; i < rows.num_rows; ++i) {
      const auto row = static_cast<std::size_t>(rows.first_row + i);
      if (i > 0 && batch.positions[row] != batch.positions[row - 1] + 1) return "positions are not ascending";
      const std::int32_t entry = batch.positions[row] / block_size;
      if (entry >= rows.table_length) return "the block table is too short";
      const std::int32_t block = batch.tables[s][entry];
      if (block < 0 || block >= num_blocks) return "no such block";
      if (batch.slots[row] != block * block_size + batch.positions[row] % block_size) return "a wrong slot";
    }
  }
  if (next_row != num_rows) return "rows of no sequence";
  if (std::set<std::int32_t>(batch.slots.begin(), batch.slots.end()).size() != batch.slots.size()) {
    return "two rows write one slot";
  }
  std::int32_t last_sequence = -1;
  auto drafts = batch.drafts.begin();
  std::int32_t drafts_left = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const sample_row& sample = batch.samples[i];
    const bool verifies = drafts_left > 0;
    if (verifies ? sample.sequence != last_sequence : sample.sequence <= last_sequence)
      return "samples are not in the order of their sequences";
    last_sequence = sample.sequence;
    if (verifies) {
      --drafts_left;
    } else if (drafts != batch.drafts.end() && drafts->first == static_cast<std::int32_t>(i)) {
      drafts_left = (drafts++)->count;
      if (drafts_left < 1) return "a sequence verifies no draft";
    }
    const sequence_rows& rows = batch.sequences[static_cast<std::size_t>(sample.sequence)];
    if (sample.row != rows.first_row + rows.num_rows - 1 - drafts_left) return "a sample is at a wrong row";
    if (sample.position != batch.positions[static_cast<std::size_t>(sample.row)] + 1)
      return "a wrong sample position";
    if (sample.num_generated != sample.position - sample.prompt_length)
      return "a wrong number of generated tokens";
    const auto length = sample.sampling->needs_history() ? static_cast<std::size_t>(sample.position) : 0U;
    if (sample.history.size() != length) return "a wrong history";
  }
  if (drafts_left != 0 || drafts != batch.drafts.end()) return "drafts of no samples";
  return {};
}

}  // namespace troupe
