#include <algorithm>
#include <utility>

#include "runtime/prefetch.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

namespace {

bool contains(const std::vector<token_id>& ids, token_id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What `token`, the newest of the sequence, ends, if anything; in vLLM's order: end token, stop token,
// length.
token_end end_by_token(const sequence& who, token_id token, const std::vector<token_id>& end_tokens) {
  if (!who.has_min_tokens || who.num_generated() > who.details->min_tokens) {
    if (!who.ignores_end && contains(end_tokens, token)) return token_end::end_token;
    if (who.has_stop_tokens && contains(who.sampling->stop_token_ids, token)) return token_end::stop_token;
  }
  return who.num_generated() < who.max_tokens ? token_end::none : token_end::length;
}

// How many rows before its own a sequence is asked for; then, where it moves its newest tokens, its details,
// which say where its output is; and then the end of that.
constexpr std::size_t to_sequence = 42;
constexpr std::size_t to_details = 28;
constexpr std::size_t to_output = 14;

void look_ahead(const schedule_batch& rows, std::size_t i) {
  if (i + to_sequence < rows.size()) prefetch_lines(rows[i + to_sequence].who, 3);
  if (i + to_details < rows.size())
    if (const sequence& who = *rows[i + to_details].who; who.moves_tokens_soon())
      prefetch_line(who.details.get());
  if (i + to_output < rows.size())
    if (const sequence& who = *rows[i + to_output].who; who.moves_tokens_soon()) who.prefetch_output();
}

}  // namespace

void scheduler::state::commit(const step_result& result, scheduler_output& output) {
  output.clear();
  if (flights.empty() || result.step != flights.front().step) return;
  const step_in_flight& done = flights.front();
  commit_rows(done, result, output);
  take_out_leavers();
  finish_step();
  clear_stage_for_suspects(output.releases);
}

// They end mostly in the order in which they run: each is looked for behind the last one. Asking every
// sequence whether it has ended would fetch the memory of all.
void scheduler::state::take_out_leavers() {
  auto at = running.begin();
  for (const sequence* who : leavers) {
    auto found = std::find(at, running.end(), who);
    if (found == running.end()) found = std::find(running.begin(), at, who);
    *found = nullptr;
    at = found;
  }
  if (!leavers.empty()) std::erase(running, nullptr);
  leavers.clear();
}

void scheduler::state::commit_rows(const step_in_flight& done, const step_result& result,
                                   scheduler_output& output) {
  const std::vector<prompt_logprob_row>& prompt_rows = done.batch->prompt_logprobs;
  std::size_t prompt_row = 0;
  step_samples samples(*done.batch, result);
  const bool has_suspects = tried.knows_anybody();
  for (std::size_t i = 0; i < std::min(done.rows.size(), to_sequence); ++i)
    prefetch_lines(done.rows[i].who, 3);
  for (std::size_t i = 0; i < done.rows.size(); ++i) {
    look_ahead(done.rows, i);
    const planned_rows& rows = done.rows[i];
    sequence& who = *rows.who;
    const auto index = static_cast<std::int32_t>(i);
    for (; prompt_row < prompt_rows.size() && prompt_rows[prompt_row].sequence == index; ++prompt_row)
      if (!who.ended) who.details->prompt_logprobs.push_back(result.prompt_logprobs[prompt_row]);
    const bool keeps_blocks = !who.ended && who.running && who.admitted_step <= done.step;
    // Behind a row that was withheld there was nothing to compute from.
    const bool is_vain = rows.sampled && rows.position > who.num_tokens();
    if (keeps_blocks && !is_vain) who.num_stored += rows.num_certain();
    if (has_suspects && who.num_stored > who.details->furthest) tried.acquit(who.id);
    // What a step was to sample may have been forced since.
    if (rows.sampled && !who.ended && rows.position == who.num_tokens())
      commit_samples(who, rows, keeps_blocks, samples, output);
    if (rows.has_draft_blocks && keeps_blocks && !who.ended) trim(who, output);
    if (rows.sampled) samples.skip(rows.num_drafts + 1);
  }
}

// This one and the next are part of each row's way, which takes a twentieth longer around a call.
[[gnu::always_inline]] inline bool scheduler::state::take_sample(sequence& who, step_samples& samples,
                                                                 std::size_t sample, token_event& event,
                                                                 token_end& by) {
  const sampled_token& sampled = samples.token(sample);
  if (sampled.logprobs) {
    if (!event.details) event.details.emplace();
    event.details->logprobs.push_back(*sampled.logprobs);
  }
  by = take_token(who, sampled.token, event);
  const forced_tokens* forced = samples.forced_after(sample);
  if (forced == nullptr) return false;
  for (std::size_t i = 0; i < forced->tokens.size() && by == token_end::none; ++i) {
    by = take_token(who, forced->tokens[i], event);
    ++totals.forced_tokens;
  }
  return true;
}

[[gnu::always_inline]] inline scheduler::state::taken_samples scheduler::state::take_samples(
    sequence& who, const planned_rows& rows, step_samples& samples, token_event& event) {
  taken_samples taken;
  std::size_t sample = samples.first();
  while (true) {
    const bool forces = take_sample(who, samples, sample, event, taken.by);
    if (taken.right == rows.num_drafts || samples.draft_at(sample + 1) != samples.token(sample).token)
      return taken;
    ++taken.right;
    // Behind an end, or forced tokens, nothing counts.
    if (forces || taken.by != token_end::none) return taken;
    ++taken.behind;
    ++sample;
    if (samples.end_of(sample) != nullptr || samples.is_withheld(sample)) return taken;
  }
}

void scheduler::state::commit_samples(sequence& who, const planned_rows& rows, bool keeps_blocks,
                                      step_samples& samples, scheduler_output& output) {
  const std::size_t first = samples.first();
  if (const sample_end* ended = samples.end_of(first)) return commit_end(who, *ended, output);
  if (samples.is_withheld(first)) return compute_again(who, keeps_blocks);
  if (who.awaits_mask || who.has_costly_grammar) mask_was_there(who);
  token_event& event = output.events.emplace_back();
  event.id = who.id;
  if (who.num_generated() == 0) begin_answer(who, event);
  const taken_samples taken = take_samples(who, rows, samples, event);
  count_drafts(rows, taken.right);
  add_history(who, taken.right, event);
  if (keeps_blocks) {
    who.num_computed += taken.behind;
    who.num_stored += taken.behind;
  }
  append_to_cache(who, output);
  if (taken.by != token_end::none) return finish_by(taken.by, who, event, output);
  if (taken.behind == 0) return;
  const std::size_t last = first + static_cast<std::size_t>(taken.behind);
  if (samples.is_withheld(last)) compute_again(who, keeps_blocks);
  if (const sample_end* ended = samples.end_of(last)) commit_end(who, *ended, output);
}

void scheduler::state::begin_answer(sequence& who, token_event& event) {
  totals.prompt_tokens += static_cast<std::uint64_t>(who.prompt_length);
  totals.cached_tokens += static_cast<std::uint64_t>(who.details->num_cached);
  if (who.details->num_cached > 0 || who.wants_prompt_logprobs)
    event.details.emplace(who.details->num_cached, std::vector<token_logprobs>(),
                          std::exchange(who.details->prompt_logprobs, {}));
  who.wants_prompt_logprobs = false;  // told: a prompt that is computed again has none
}

void scheduler::state::add_history(sequence& who, std::int32_t accepted_drafts, token_event& event) {
  if (accepted_drafts == 0 && !who.tells_preemptions) return;
  if (!event.details) event.details.emplace();
  event.details->accepted_drafts = accepted_drafts;
  if (who.tells_preemptions) event.details->preemptions = who.details->num_preemptions;
  who.tells_preemptions = false;
}

void scheduler::state::finish_by(token_end by, sequence& who, token_event& event, scheduler_output& output) {
  event.end.emplace();
  event.end->tokens = who.tokens_used();
  if (by == token_end::stop_token) event.end->stop_token = who.token(who.num_tokens() - 1);
  if (by == token_end::length) event.end->reason = finish_reason::length;
  leave(who, output);
}

// The step that was to sample it, if any, is no longer waited for.
token_end scheduler::state::take_token(sequence& who, token_id token, token_event& event) {
  ++totals.generation_tokens;
  if (!who.pending.empty()) who.pending.erase(who.pending.begin());
  who.add_token(token);
  event.tokens.push_back(token);
  return end_by_token(who, token, limits.end_tokens);
}

void scheduler::state::commit_end(sequence& who, const sample_end& end, scheduler_output& output) {
  if (!who.pending.empty()) who.pending.erase(who.pending.begin());
  add_end(who, end.failure ? finish_reason::error : finish_reason::stop, end.failure, output);
  leave(who, output);
}

void scheduler::state::leave(sequence& who, scheduler_output& output) {
  output.releases.push_back(retire(who));
  if (who.running) leavers.push_back(&who);
}

// The first token at once: it proves the whole prompt stored, for those that share it. The others as they
// prove another block stored, which is one token behind its end. Of a running one no more than prove stored
// what is: forced tokens are not computed yet.
void scheduler::state::append_to_cache(sequence& who, scheduler_output& output) const {
  const std::int32_t known = who.running ? std::min(who.num_tokens(), who.num_stored + 1) : who.num_tokens();
  if (known < who.index_at) return;
  if (limits.enable_prefix_caching || who.details->num_indexed == who.prompt_length) {
    output.appends.push_back({who.id, known - who.details->num_indexed, who.place});
    const std::int32_t first = who.details->num_indexed - who.prompt_length;
    const std::span<const token_id> added = who.output().subspan(
        static_cast<std::size_t>(first), static_cast<std::size_t>(known - who.details->num_indexed));
    output.appended.insert(output.appended.end(), added.begin(), added.end());
  }
  who.details->num_indexed = known;
  who.index_at = ((known - 1) / limits.block_size + 1) * limits.block_size + 1;
}

void scheduler::state::finish_step() {
  committed = flights.front().step;
  bounds.step_ended(size_of(flights.front()), {limits.max_num_seqs, limits.max_num_batched_tokens});
  flights.pop();
  room_came_back = true;
}

}  // namespace troupe
