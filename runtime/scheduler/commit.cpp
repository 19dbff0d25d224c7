#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

namespace {

bool contains(const std::vector<token_id>& ids, token_id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What the newest token of the sequence ends, if anything; in vLLM's order: end token, stop token, length.
std::optional<finished> end_by_token(const sequence& who, const std::vector<token_id>& end_tokens) {
  const sampling_params& params = *who.sampling;
  const token_id token = who.tokens.back();
  finished end;
  end.tokens = who.tokens_used();
  if (who.num_generated() > params.min_tokens) {
    if (!params.ignore_eos && contains(end_tokens, token)) return end;
    if (contains(params.stop_token_ids, token)) {
      end.stop_token = token;
      return end;
    }
  }
  if (who.num_generated() < who.max_tokens) return std::nullopt;
  end.reason = finish_reason::length;
  return end;
}

}  // namespace

scheduler_output scheduler::state::commit(const step_result& result) {
  if (now != phase::in_flight || result.step != step) return {};
  const bool complete = result.tokens.size() == batch->samples.size() &&
                        result.prompt_logprobs.size() == batch->prompt_logprobs.size();
  if (!complete) {
    return fail_step(step, {error_code::internal, fmt::format("the executor sampled {} of {} rows",
                                                              result.tokens.size(), batch->samples.size())});
  }
  scheduler_output output;
  output.events.reserve(result.tokens.size());
  commit_rows(result, output);
  if (!output.releases.empty()) std::erase_if(running, [](const sequence* who) { return who->ended; });
  finish_phase();
  return output;
}

void scheduler::state::commit_rows(const step_result& result, scheduler_output& output) {
  std::size_t sample = 0;
  std::size_t prompt_row = 0;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    sequence& who = *planned[i].who;
    const auto index = static_cast<std::int32_t>(i);
    for (; prompt_row < batch->prompt_logprobs.size() && batch->prompt_logprobs[prompt_row].sequence == index;
         ++prompt_row) {
      if (!who.ended) who.prompt_logprobs.push_back(result.prompt_logprobs[prompt_row]);
    }
    const bool sampled = sample < batch->samples.size() && batch->samples[sample].sequence == index;
    if (!who.ended) {
      who.num_computed += planned[i].num_rows;
      if (sampled) commit_token(who, result.tokens[sample], output);
    }
    if (sampled) ++sample;
  }
}

void scheduler::state::commit_token(sequence& who, const sampled_token& sampled, scheduler_output& output) {
  token_event& event = output.events.emplace_back();
  event.id = who.id;
  if (who.num_generated() == 0) {
    totals.prompt_tokens += static_cast<std::uint64_t>(who.prompt_length);
    event.prompt_logprobs = std::exchange(who.prompt_logprobs, {});
  }
  ++totals.generation_tokens;
  who.tokens.push_back(sampled.token);
  event.tokens.push_back(sampled.token);
  if (sampled.logprobs) event.logprobs.push_back(*sampled.logprobs);
  event.end = end_by_token(who, limits.end_tokens);
  if (event.end) output.releases.push_back(retire(who));
}

scheduler_output scheduler::state::fail_step(std::uint64_t failed, const error& failure) {
  scheduler_output output;
  if (now != phase::in_flight || failed != step) return output;
  for (const planned_rows& rows : planned) {
    sequence& who = *rows.who;
    if (who.ended) continue;
    token_event& event = output.events.emplace_back();
    event.id = who.id;
    event.end.emplace();
    event.end->reason = finish_reason::error;
    event.end->failure = failure;
    event.end->tokens = who.tokens_used();
    output.releases.push_back(retire(who));
  }
  std::erase_if(running, [](const sequence* who) { return who->ended; });
  finish_phase();
  return output;
}

}  // namespace troupe
