#include "runtime/executor/pad_batch.hpp"

#include <algorithm>
#include <optional>

#include "runtime/blocks_for.hpp"

namespace troupe {
namespace {

// Where the sequences of one kind (prompts, decodes) go.
struct group {
  std::int32_t rows = 0;     // places of each sequence; 0: as many as it has rows
  std::int32_t tables = 0;   // entries of each block table; 0: as many as it has
  std::int32_t missing = 0;  // sequences to add
};

group group_of(const std::optional<bucket>& in, std::int32_t present, std::int32_t block_size) {
  if (!in) return {};
  const bool is_prompt = in->query > 1;
  // A query that begins within a block touches one block more than it fills.
  const std::int32_t own = is_prompt ? blocks_for(in->query, block_size) + 1 : 0;
  return {in->query, in->blocks + own, in->batch - present};
}

class padder {
 public:
  padder(const device_batch& in, device_batch& out) : in_(in), out_(out) {}

  void copy_sequence(std::size_t index, const group& to) {
    const sequence_rows& from = in_.sequences[index];
    sequence_rows& sequence = out_.sequences.emplace_back(from);
    sequence.first_row = out_.num_rows();
    const auto copy_rows = [&](const auto& source, auto& target) {
      target.insert(target.end(), source.begin() + from.first_row,
                    source.begin() + from.first_row + from.num_rows);
    };
    copy_rows(in_.tokens, out_.tokens);
    copy_rows(in_.positions, out_.positions);
    copy_rows(in_.slots, out_.slots);
    add_rows(to.rows - from.num_rows);
    sequence.table_offset = static_cast<std::int32_t>(out_.block_tables.size());
    const auto table = in_.table(index);
    out_.block_tables.insert(out_.block_tables.end(), table.begin(), table.end());
    add_blocks(to.tables - from.table_length, sequence);
  }

  void add_sequences(const group& to) {
    for (std::int32_t i = 0; i < to.missing; ++i) {
      sequence_rows& sequence = out_.sequences.emplace_back();
      sequence.first_row = out_.num_rows();
      sequence.table_offset = static_cast<std::int32_t>(out_.block_tables.size());
      add_rows(to.rows);
      sequence.table_length = 0;
      add_blocks(to.tables, sequence);
    }
  }

  void add_rows(std::int32_t count) {
    const auto rows = out_.tokens.size() + static_cast<std::size_t>(std::max(count, 0));
    out_.tokens.resize(rows, 0);
    out_.positions.resize(rows, 0);
    out_.slots.resize(rows, no_slot);
  }

 private:
  void add_blocks(std::int32_t count, sequence_rows& sequence) {
    if (count <= 0) return;
    out_.block_tables.insert(out_.block_tables.end(), static_cast<std::size_t>(count), no_block);
    sequence.table_length += count;
  }

  const device_batch& in_;
  device_batch& out_;
};

void clear(device_batch& batch) {
  batch.tokens.clear();
  batch.positions.clear();
  batch.slots.clear();
  batch.sequences.clear();
  batch.block_tables.clear();
  batch.tables.clear();
  batch.keeps_tables.reset();
}

// Sequences keep their order, and so do their rows; fed rows are told in that order.
void move_fed_rows(const device_batch& in, device_batch& out) {
  auto fed = in.fed.begin();
  for (std::size_t i = 0; i < in.sequences.size(); ++i) {
    const sequence_rows& from = in.sequences[i];
    for (; fed != in.fed.end() && fed->row < from.first_row + from.num_rows; ++fed)
      out.fed.push_back({out.sequences[i].first_row + fed->row - from.first_row, fed->sample});
  }
}

}  // namespace

void pad_batch(const device_batch& in, const step_placement& placement, std::int32_t block_size,
               device_batch& out, std::int32_t& num_padding) {
  clear(out);
  out.step = in.step;
  out.copies = in.copies;
  out.samples = in.samples;
  out.drafts = in.drafts;
  out.verified = in.verified;
  out.kept = in.kept;
  out.prompt_logprobs = in.prompt_logprobs;
  out.fed.clear();
  const step_shape shape = shape_of(in, block_size);
  const group prompts = group_of(placement.prompt, shape.prompt.batch, block_size);
  const group decodes = group_of(placement.decode, shape.decode.batch, block_size);
  padder pad(in, out);
  for (std::size_t i = 0; i < in.sequences.size(); ++i)
    pad.copy_sequence(i, in.sequences[i].num_rows > 1 ? prompts : decodes);
  const auto moved = [&](std::int32_t sequence, std::int32_t row) {
    const auto index = static_cast<std::size_t>(sequence);
    return out.sequences[index].first_row + row - in.sequences[index].first_row;
  };
  for (sample_row& sample : out.samples) sample.row = moved(sample.sequence, sample.row);
  for (prompt_logprob_row& row : out.prompt_logprobs) row.row = moved(row.sequence, row.row);
  move_fed_rows(in, out);
  pad.add_sequences(prompts);
  pad.add_sequences(decodes);
  if (placement.unified) pad.add_rows(placement.unified->query - out.num_rows());
  num_padding = out.num_rows() - in.num_rows();
}

padded_limits largest_padded(const bucket_plan& plan, std::int32_t max_rows, std::int32_t max_sequences) {
  std::int64_t prompt_rows = 0;
  std::int64_t decode_rows = 0;
  std::int64_t prompt_batch = 0;
  std::int64_t decode_batch = 0;
  for (const bucket& b : plan.prompt) {
    prompt_rows = std::max(prompt_rows, rows_of(b));
    prompt_batch = std::max<std::int64_t>(prompt_batch, b.batch);
  }
  for (const bucket& b : plan.decode) {
    decode_rows = std::max(decode_rows, rows_of(b));
    decode_batch = std::max<std::int64_t>(decode_batch, b.batch);
  }
  // Either group may be beyond every bucket and run as it is.
  std::int64_t rows =
      std::max<std::int64_t>(prompt_rows, max_rows) + std::max<std::int64_t>(decode_rows, max_sequences);
  for (const unified_bucket& b : plan.unified) rows = std::max(rows, rows_of(b));
  const std::int64_t sequences = std::max<std::int64_t>(prompt_batch, max_sequences) +
                                 std::max<std::int64_t>(decode_batch, max_sequences);
  constexpr std::int64_t most = 1 << 20;  // what an executor takes at all
  return {static_cast<std::int32_t>(std::min(rows, most + 1)),
          static_cast<std::int32_t>(std::min(sequences, most + 1))};
}

}  // namespace troupe
