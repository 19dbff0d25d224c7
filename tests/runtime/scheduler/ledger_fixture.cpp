#include "tests/runtime/scheduler/ledger_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "runtime/grammar/matcher.hpp"
#include "runtime/step_masks.hpp"
#include "tests/runtime/scheduler/simulated_grammars_fixture.hpp"
#include "tests/support/paged_executor.hpp"
#include "tests/support/promise.hpp"

namespace troupe {

bool ledger::fits(const engine_request& request) const {
  const auto prompt = static_cast<std::int32_t>(request.prompt.size());
  const sampling_params& params = *request.sampling;
  const std::int32_t output = params.max_tokens.value_or(params.grammar ? 1 : std::max(1, params.min_tokens));
  return prompt > 0 && prompt + output <= limits_.max_model_len &&
         prompt + output - 1 <= limits_.num_blocks * limits_.block_size;
}

void ledger::open(const engine_request& request) {
  ledger_entry entry;
  entry.prompt = request.prompt;
  entry.sampling = request.sampling;
  entry.deadline = request.deadline;
  entry.queue_deadline = request.queue_deadline;
  entry.first = request.first_answer();
  entry.priority = request.priority;
  fill_expected(entry);
  entries_.emplace(request.id, std::move(entry));
}

void ledger::fill_expected(ledger_entry& entry) const {
  const sampling_params& params = *entry.sampling;
  std::vector<token_id> tokens = entry.prompt;
  const auto room = limits_.max_model_len - static_cast<std::int32_t>(entry.prompt.size());
  const auto pool =
      limits_.num_blocks * limits_.block_size - static_cast<std::int32_t>(entry.prompt.size()) + 1;
  const std::int32_t most = params.max_tokens.value_or(std::min(room, pool));
  const auto among = [](const std::vector<token_id>& ids, token_id id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  std::optional<grammar::matcher> place;
  if (params.grammar) place.emplace(compiled(params.grammar));
  std::vector<std::uint32_t> mask((vocab + 31) / 32);
  std::deque<token_id> forced;
  while (static_cast<std::int32_t>(entry.expected.size()) < most) {
    token_id token = expect_row(tokens, params, vocab).token;
    if (place && !place->fill_mask(mask)) {
      entry.expected_reason = finish_reason::error;
      return;
    }
    if (place && forced.empty() && spells_forced_ && !params.logprobs) {
      const auto run = place->forced_tokens(*spells_forced_).value();
      if (run.size() > 1) forced.assign(run.begin(), run.end());
    }
    if (place) token = next_allowed(mask, forced.empty() ? token : forced.front());
    if (!forced.empty()) forced.pop_front();
    if (place) require(place->accept(token).has_value(), "a token that the mask allows is not accepted");
    tokens.push_back(token);
    entry.expected.push_back(token);
    if (!place && static_cast<std::int32_t>(entry.expected.size()) <= params.min_tokens) continue;
    const bool end = (place || !params.ignore_eos) && among(limits_.end_tokens, token);
    if (end || among(params.stop_token_ids, token)) {
      entry.expected_reason = finish_reason::stop;
      return;
    }
  }
}

void ledger::give_way(const token_batch& ends, std::int32_t priority) {
  const request_id first = entries_.at(ends.front().id).first;
  for (const token_event& event : ends) {
    ledger_entry& entry = entries_.at(event.id);
    require(entry.first == first, "more than one request gave way");
    require(entry.priority > priority, "a request gave way to one that is no better");
    require(event.end && event.end->failure && event.end->failure->code == error_code::unavailable,
            "a request gave way and was not told so");
    entry.gave_way = true;
  }
  for (const auto& [id, entry] : entries_)
    require(entry.first != first || entry.ended || entry.gave_way, "half a request gave way");
}

void ledger::take(const token_event& event, steady_time now) {
  ledger_entry& entry = entries_.at(event.id);
  require(!entry.ended, fmt::format("request {} got an event after its end", event.id));
  const bool first = entry.received.empty() && !event.tokens.empty();
  entry.received.insert(entry.received.end(), event.tokens.begin(), event.tokens.end());
  const bool may_be_forced = entry.sampling->grammar != nullptr;  // tokens behind the last sample
  require(
      !entry.kills_at || may_be_forced || static_cast<std::int32_t>(entry.received.size()) <= *entry.kills_at,
      "a step that dies gave a token");
  require(entry.received.size() <= entry.expected.size() &&
              std::equal(entry.received.begin(), entry.received.end(), entry.expected.begin()),
          fmt::format("request {} has other tokens than alone, from {}", event.id, entry.received.size()));
  const token_details details = event.details ? *event.details : token_details{};
  require(details.cached_tokens < static_cast<std::int32_t>(entry.prompt.size()),
          "a whole prompt came from the cache");
  check_logprobs(entry, event, details, first);
  if (event.end) check_finished(entry, *event.end, event.id, now);
}

void ledger::check_logprobs(const ledger_entry& entry, const token_event& event, const token_details& details,
                            bool first) const {
  require(details.logprobs.size() == (entry.sampling->logprobs ? event.tokens.size() : 0U),
          "not one log-probability per token");
  const bool owed = first && entry.sampling->prompt_logprobs;
  require(details.prompt_logprobs.size() == (owed ? entry.prompt.size() - 1 : 0U),
          "prompt log-probabilities are not told once, whole, with the first token");
  std::vector<token_id> prefix;
  for (std::size_t i = 0; i < details.prompt_logprobs.size(); ++i) {
    prefix.push_back(entry.prompt[i]);
    require(details.prompt_logprobs[i].token == entry.prompt[i + 1] &&
                details.prompt_logprobs[i].logprob == expect_row(prefix, *entry.sampling, vocab).logprob,
            "a wrong prompt log-probability");
  }
}

void ledger::check_finished(ledger_entry& entry, const finished& end, request_id id, steady_time now) {
  entry.ended = true;
  require(end.tokens.prompt_tokens == static_cast<std::int32_t>(entry.prompt.size()), "wrong prompt usage");
  require(end.tokens.completion_tokens == static_cast<std::int32_t>(entry.received.size()), "wrong usage");
  require((end.reason == finish_reason::error) == end.failure.has_value(), "a failure without error");
  if (end.failure && end.failure->code == error_code::internal)
    require(entry.kills_at.has_value(), fmt::format("request {} is convicted and did nothing", id));
  if (end.failure && end.failure->code == error_code::invalid_argument)
    require(entry.received == entry.expected && entry.expected_reason == finish_reason::error,
            fmt::format("request {} was ended by its grammar at the wrong place", id));
  if (end.reason == finish_reason::timeout) require(*entry.deadline <= now, "timed out too early");
  if (end.failure && end.failure->code == error_code::unavailable) {
    require(entry.gave_way || (entry.queue_deadline && *entry.queue_deadline <= now),
            "refused by a queue deadline that had not passed");
    require(entry.received.empty(), "refused after it had run");
    require(end.failure->retry_after > 0, "a refusal says nothing of another try");
  }
  if (end.reason != finish_reason::stop && end.reason != finish_reason::length) return;
  ++finished_;
  require(entry.received == entry.expected, fmt::format("request {} ended too early", id));
  require(end.reason == entry.expected_reason, fmt::format("request {} has the wrong reason", id));
}

void ledger::check_all_ended() const {
  for (const auto& [id, entry] : entries_) require(entry.ended, fmt::format("request {} never ended", id));
}

std::vector<request_id> ledger::open_requests() const {
  std::vector<request_id> ids;
  for (const auto& [id, entry] : entries_)
    if (!entry.ended) ids.push_back(id);
  return ids;
}

}  // namespace troupe
