#include "runtime/scheduler/batch_builder.hpp"

#include <algorithm>
#include <cstddef>

#include "runtime/prefetch.hpp"

namespace troupe {

namespace {

// Writes into a step_batch of which only the first num_rows and num_samples are of this step yet.
class batch_builder {
 public:
  batch_builder(step_batch& batch, std::int32_t block_size) : batch_(batch), block_size_(block_size) {}

  void add(planned_rows& planned) {
    sequence& who = *planned.who;
    const sequence_rows rows{who.id, num_rows_, planned.num_rows, 0, who.table_length};
    add_sequence(rows);
    batch_.tables.push_back(who.table);
    add_tokens(who, rows, planned.num_certain());
    add_places(who, rows);
    planned.has_numbered_draft = planned.num_drafts > 0 && who.details->guess.number != 0;
    if (planned.num_drafts > 0) who.last_slot = no_slot;  // of a row that may be for nothing
    if (who.wants_prompt_logprobs) add_prompt_logprobs(who, rows);
    planned.sampled = planned.num_certain() == who.num_missing();
    planned.position = who.num_tokens() + who.num_pending();
    num_rows_ += planned.num_rows;
    who.last_step = batch_.step;
    who.num_computed += planned.num_certain();
    if (planned.sampled) add_samples(who, planned);
  }

  void finish() { batch_.samples.resize(num_samples_); }

 private:
  // Member by member, but for table_offset, which is for batches with tables of their own: a copy of the
  // whole would wait for its halves to be written.
  void add_sequence(const sequence_rows& rows) {
    sequence_rows& to = batch_.sequences.emplace_back();
    to.id = rows.id;
    to.first_row = rows.first_row;
    to.num_rows = rows.num_rows;
    to.table_length = rows.table_length;
  }

  void add_tokens(const sequence& who, const sequence_rows& rows, std::int32_t certain) {
    token_id* to = batch_.tokens.data() + rows.first_row;
    const std::int32_t known = std::clamp(who.num_tokens() - who.num_computed, 0, certain);
    for (std::int32_t i = 0; i < known; ++i) to[i] = who.token(who.num_computed + i);
    for (std::int32_t i = known; i < certain; ++i) {
      to[i] = 0;
      const std::int32_t pending = who.num_computed + i - who.num_tokens();
      batch_.fed_rows.push_back({rows.first_row + i, who.pending[static_cast<std::size_t>(pending)]});
    }
    if (certain < rows.num_rows) std::ranges::copy(who.next_drafts(rows.num_rows - certain), to + certain);
  }

  // Within a block a row is stored behind the one before it: most decodes need not look into their tables.
  void add_places(sequence& who, const sequence_rows& rows) {
    std::int32_t* positions = batch_.positions.data() + rows.first_row;
    std::int32_t* slots = batch_.slots.data() + rows.first_row;
    for (std::int32_t i = 0; i < rows.num_rows; ++i) {
      const std::int32_t position = who.num_computed + i;
      const std::int32_t offset = position % block_size_;
      if (offset == 0 || who.last_slot == no_slot) {
        who.last_slot = who.table[position / block_size_] * block_size_ + offset;
      } else {
        ++who.last_slot;
      }
      positions[i] = position;
      slots[i] = who.last_slot;
    }
  }

  void add_samples(sequence& who, const planned_rows& planned) {
    const auto first = static_cast<std::int32_t>(num_samples_);
    if (planned.num_drafts > 0)
      batch_.drafts.push_back({first, planned.num_drafts, who.details->guess.number});
    if (who.has_grammar) batch_.masked_samples.push_back({first, who.sampling->logprobs.has_value()});
    for (std::int32_t i = 0; i <= planned.num_drafts; ++i) add_sample(who, planned, i);
    token_source& source = who.pending.emplace_back();  // in place: a copy would wait for its halves
    source.step = static_cast<std::uint32_t>(batch_.step);
    source.sample = first;
  }

  // The one behind so many drafts. The place of a sample keeps its memory: most steps are much like the last.
  // The parameters are the sequence's, which outlives the runner's step: counting their holders would touch
  // each of them twice a step.
  void add_sample(sequence& who, const planned_rows& planned, std::int32_t drafts) {
    if (num_samples_ == batch_.samples.size()) batch_.samples.emplace_back();
    sample_row& sample = batch_.samples[num_samples_];
    sample.sequence = static_cast<std::int32_t>(batch_.sequences.size()) - 1;
    sample.row = num_rows_ - 1 - planned.num_drafts + drafts;
    sample.position = planned.position + drafts;
    sample.num_generated = sample.position - who.prompt_length;
    sample.prompt_length = who.prompt_length;
    sample.sampling = std::shared_ptr<const sampling_params>(std::shared_ptr<const void>(), who.sampling);
    sample.history.clear();
    if (who.needs_history) add_history(who, sample, drafts);
    ++num_samples_;
  }

  void add_history(sequence& who, sample_row& sample, std::int32_t drafts) {
    sample.history.reserve(static_cast<std::size_t>(who.prompt_length) +
                           static_cast<std::size_t>(who.max_tokens));
    sample.history = who.details->prompt;
    const std::span<const token_id> output = who.output();
    sample.history.insert(sample.history.end(), output.begin(), output.end());
    for (const token_source& source : who.pending) {
      batch_.fed_histories.push_back({static_cast<std::int32_t>(num_samples_),
                                      static_cast<std::int32_t>(sample.history.size()), source});
      sample.history.push_back(0);
    }
    const auto guessed = who.next_drafts(drafts);
    sample.history.insert(sample.history.end(), guessed.begin(), guessed.end());
  }

  // The rows whose successor is a prompt token not yet looked at.
  void add_prompt_logprobs(const sequence& who, const sequence_rows& rows) {
    const auto index = static_cast<std::int32_t>(batch_.sequences.size()) - 1;
    const auto collected = static_cast<std::int32_t>(who.details->prompt_logprobs.size());
    const std::int32_t end = std::min(who.num_computed + rows.num_rows, who.prompt_length - 1);
    for (std::int32_t position = std::max(who.num_computed, collected); position < end; ++position) {
      batch_.prompt_logprobs.push_back({index, rows.first_row + position - who.num_computed,
                                        who.token(position + 1), *who.sampling->prompt_logprobs});
    }
  }

  step_batch& batch_;
  std::int32_t block_size_;
  std::int32_t num_rows_ = 0;
  std::size_t num_samples_ = 0;
};

}  // namespace

void build_batch(step_batch& batch, std::uint64_t step, schedule_batch& planned,
                 const step_reservation& reservation, std::int32_t block_size) {
  std::size_t num_rows = 0;
  for (const planned_rows& rows : planned) num_rows += static_cast<std::size_t>(rows.num_rows);
  batch.step = step;
  batch.tokens.resize(num_rows);
  batch.positions.resize(num_rows);
  batch.slots.resize(num_rows);
  batch.sequences.clear();
  batch.tables.clear();
  batch.prompt_logprobs.clear();
  batch.fed_rows.clear();
  batch.fed_histories.clear();
  batch.masked_samples.clear();
  batch.drafts.clear();
  if (batch.keeps_tables != reservation.tables) batch.keeps_tables = reservation.tables;
  batch.copies = reservation.copies;
  batch_builder builder(batch, block_size);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (i + prefetch_distance < planned.size()) prefetch_lines(planned[i + prefetch_distance].who, 2);
    builder.add(planned[i]);
  }
  builder.finish();
}

}  // namespace troupe
