// One step of the engine as it is sent to the runner: the flattened "super-sequence" of prefill chunks and
// decodes. Of the three shapes that a batch has, this is the middle one: schedule_batch (what is scheduled)
// -> step_batch (what the step needs) -> device_batch (what the device reads: every token known).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/block_copy.hpp"
#include "runtime/boxed.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"
#include "runtime/stream.hpp"

namespace troupe {

// Steps planned and not committed: no more than this many, whatever the limits say.
inline constexpr std::int32_t most_steps_in_flight = 32;

// In place of a slot: the row's K and V are not stored.
inline constexpr std::int32_t no_slot = -1;

// The rows of one sequence, and where its block table stands.
struct sequence_rows {
  request_id id = 0;
  std::int32_t first_row = 0;
  std::int32_t num_rows = 0;
  std::int32_t table_offset = 0;  // in device_batch::block_tables, where the batch has its own
  std::int32_t table_length = 0;
};

// A row whose logits are sampled. The sampled token stands at `position` (the row's own position + 1).
struct sample_row {
  std::int32_t sequence = 0;  // index into sequences
  std::int32_t row = 0;
  std::int32_t position = 0;
  std::int32_t num_generated = 0;  // output tokens before this one
  // In a step_batch not an owner, see keeps_sampling: for the runner alone. Its requests outlive its steps;
  // whoever else has the batch may read it when the runner has died and a request has gone.
  std::shared_ptr<const sampling_params> sampling = {};
  std::int32_t prompt_length = 0;
  std::vector<token_id> history = {};  // prompt + output so far; empty unless sampling->needs_history()
};

// A row whose logits are only read: the log-probability of the prompt token that follows it.
struct prompt_logprob_row {
  std::int32_t sequence = 0;
  std::int32_t row = 0;
  token_id next_token = 0;
  std::int32_t top = 0;
};

// A sequence whose drafts are verified: its sample `first` is drawn at its last certain row, each of the
// `count` samples behind it at the row of a draft. A draft is right where it is the token that the sample
// before its own row draws; what is sampled behind the first wrong one means nothing.
struct draft_samples {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::uint64_t draft = 0;  // draft::number
};

// What step_batch and device_batch have in common.
struct batch_rows {
  std::uint64_t step = 0;
  std::vector<token_id> tokens;         // [rows]
  std::vector<std::int32_t> positions;  // [rows]
  std::vector<std::int32_t> slots;  // [rows] block * block_size + offset: where the row's K and V are stored
  std::vector<sequence_rows> sequences;  // rows of a sequence are contiguous, positions ascending
  std::vector<sample_row> samples;       // ordered by row; one per sequence, or one more than it has drafts
  std::vector<draft_samples> drafts;     // ascending
  std::vector<prompt_logprob_row> prompt_logprobs;
  std::vector<block_copy> copies;  // whole blocks, copied in order before any row is written

  std::int32_t num_rows() const { return static_cast<std::int32_t>(tokens.size()); }
  // The i-th draft that `of` verifies.
  token_id draft(const draft_samples& of, std::int32_t i) const {
    return tokens[static_cast<std::size_t>(samples[static_cast<std::size_t>(of.first + 1 + i)].row)];
  }
};

// A sample that a mask is asked for: the first of a request with a grammar.
struct masked_sample {
  std::int32_t sample = 0;  // index into samples
  bool wants_logprobs = false;
};

// Where a token comes from that nobody knows yet: a sample of a step in flight.
struct token_source {
  std::uint32_t step = 0;   // the last bits of its number, which tell it from the others in flight
  std::int32_t sample = 0;  // index into that step's samples
};
// tokens[row] is such a token.
struct fed_row {
  std::int32_t row = 0;
  token_source from;
};
// samples[sample].history[index] is such a token.
struct fed_history {
  std::int32_t sample = 0;
  std::int32_t index = 0;
  token_source from;
};

// Tokens that are not known yet are 0 here; the runner fills them in (executor/token_feed.hpp).
struct step_batch : batch_rows {
  std::vector<fed_row> fed_rows;
  std::vector<fed_history> fed_histories;
  std::vector<masked_sample> masked_samples;   // ascending
  std::vector<const std::int32_t*> tables;     // [sequences] of table_length blocks each
  std::shared_ptr<const void> keeps_tables;    // what these point into, and ...
  std::shared_ptr<const void> keeps_sampling;  // ... what the samples' parameters point into
};
using step_batch_ptr = std::shared_ptr<const step_batch>;

struct sampled_token {
  request_id id = 0;
  token_id token = 0;
  boxed<token_logprobs> logprobs = {};
};

// A sample that is no token: its request's text cannot go on. With an error, or complete as it stands.
struct sample_end {
  std::int32_t sample = 0;
  std::optional<error> failure = {};
};

// What a grammar leaves no choice about after a sample: the request's next tokens, computed together with its
// next row instead of one step each.
struct forced_tokens {
  std::int32_t sample = 0;
  std::vector<token_id> tokens = {};  // the sample's own is not among them
};

struct step_result {
  std::uint64_t step = 0;
  std::vector<sampled_token> tokens;            // one per step_batch::samples, same order
  std::vector<token_logprobs> prompt_logprobs;  // one per step_batch::prompt_logprobs, same order
  std::vector<sample_end> ends;                 // ascending; their tokens mean nothing
  std::vector<forced_tokens> forced;            // ascending
  // Samples whose masks were not worked out in time, ascending: their tokens and those behind them mean
  // nothing, and their rows are computed again.
  std::vector<std::int32_t> withheld = {};
  bool is_withheld(std::size_t sample) const {
    return !withheld.empty() && std::ranges::binary_search(withheld, static_cast<std::int32_t>(sample));
  }
};
using step_result_ptr = std::shared_ptr<const step_result>;

}  // namespace troupe
