#include "runtime/executor/token_feed.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {

namespace {

// With as much room as the source has: that grows in leaps.
template <class T>
void assign(std::vector<T>& to, const std::vector<T>& from) {
  to.reserve(from.capacity());
  to = from;
}

// In place: what was allocated for a sample stays with its index, and the sampling parameters of a
// sequence that kept its place are not counted up and down again.
void assign(std::vector<sample_row>& to, const std::vector<sample_row>& from) {
  to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].sequence = from[i].sequence;
    to[i].row = from[i].row;
    to[i].position = from[i].position;
    to[i].num_generated = from[i].num_generated;
    to[i].prompt_length = from[i].prompt_length;
    if (to[i].sampling != from[i].sampling) to[i].sampling = from[i].sampling;
    assign(to[i].history, from[i].history);
  }
}

}  // namespace

device_batch& token_feed::resolve(const step_batch& batch, std::optional<std::uint64_t> uncollected) {
  if (uncollected) last_ = 1 - last_;
  device_batch& into = batches_[last_];
  into.step = batch.step;
  assign(into.tokens, batch.tokens);
  assign(into.positions, batch.positions);
  assign(into.slots, batch.slots);
  assign(into.sequences, batch.sequences);
  assign(into.tables, batch.tables);
  if (into.keeps_tables != batch.keeps_tables) into.keeps_tables = batch.keeps_tables;
  assign(into.samples, batch.samples);
  assign(into.drafts, batch.drafts);
  assign(into.prompt_logprobs, batch.prompt_logprobs);
  assign(into.copies, batch.copies);
  into.verified.clear();
  feed_rows(batch, uncollected, into);
  complete_histories(batch, into);
  return into;
}

void token_feed::feed_rows(const step_batch& batch, std::optional<std::uint64_t> uncollected,
                           device_batch& into) const {
  into.fed.clear();
  for (const fed_row& fed : batch.fed_rows) {
    if (uncollected && static_cast<std::uint32_t>(*uncollected) == fed.from.step) {
      into.fed.push_back({fed.row, fed.from.sample});
    } else {
      into.tokens[static_cast<std::size_t>(fed.row)] = find(fed.from);
    }
  }
}

void token_feed::complete_histories(const step_batch& batch, device_batch& into) const {
  for (const fed_history& fed : batch.fed_histories) {
    sample_row& sample = into.samples[static_cast<std::size_t>(fed.sample)];
    sample.history[static_cast<std::size_t>(fed.index)] = find(fed.from);
  }
}

void token_feed::remember(const step_result& result) {
  sampled_step& kept = steps_[result.step % steps_.size()];
  kept.step = result.step;
  kept.tokens.clear();
  for (const sampled_token& sampled : result.tokens) kept.tokens.push_back(sampled.token);
}

token_id token_feed::find(const token_source& source) const {
  const sampled_step& kept = steps_[source.step % steps_.size()];
  const auto index = static_cast<std::size_t>(source.sample);
  return static_cast<std::uint32_t>(kept.step) == source.step && index < kept.tokens.size()
             ? kept.tokens[index]
             : 0;
}

}  // namespace troupe
