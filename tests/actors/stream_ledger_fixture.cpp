#include "tests/actors/stream_ledger_fixture.hpp"

#include <algorithm>
#include <utility>

#include "runtime/grammar/matcher.hpp"
#include "runtime/step_masks.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/actors/letter_device_fixture.hpp"
#include "tests/support/promise.hpp"

namespace troupe::test {
namespace {

bool among(const std::vector<token_id>& ids, token_id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::string text_of(const std::vector<token_id>& tokens) {
  std::string text;
  for (const token_id token : tokens)
    if (token != end_token) text += static_cast<char>(token);
  return text;
}

// The longest stop string that the text ends with.
std::optional<std::string> stop_at_end(const std::string& text, const std::vector<std::string>& stops) {
  std::optional<std::string> longest;
  for (const std::string& stop : stops)
    if (text.ends_with(stop) && (!longest || stop.size() > longest->size())) longest = stop;
  return longest;
}

bool is_prefix(const std::string& of, const std::string& text) { return text.starts_with(of); }

// What the grammar makes of a token, one place further.
token_id allowed_next(grammar::matcher& place, token_id drawn) {
  std::vector<std::uint32_t> mask(place.grammar().vocabulary().num_words());
  require(place.fill_mask(mask).has_value(), "a grammar leaves no token");
  const token_id token = next_allowed(mask, drawn);
  require(place.accept(token).has_value(), "a token that the mask allows is not accepted");
  return token;
}

}  // namespace

plain_answer answer_alone(std::vector<token_id> tokens, const sampling_params& sampling,
                          std::int32_t max_tokens) {
  plain_answer answer;
  std::optional<grammar::matcher> place;
  if (sampling.grammar) place.emplace(grammar_of(sampling.grammar).compiled);
  for (std::int32_t count = 1; count <= max_tokens; ++count) {
    token_id token = letter_after(tokens, sampling);
    if (place) token = allowed_next(*place, token);
    tokens.push_back(token);
    answer.tokens.push_back(token);
    const bool obeys = count > sampling.min_tokens;
    // A grammar's end, and what ends a request beside it, wait for nothing.
    const bool ends = token == end_token && (place || (obeys && !sampling.ignore_eos));
    const bool stops = (obeys || place) && !ends && among(sampling.stop_token_ids, token);
    if (ends || stops) answer.reason = finish_reason::stop;
    const bool shown = token != end_token && (!stops || sampling.include_stop_str_in_output);
    if (shown) answer.text += static_cast<char>(token);
    if (shown && obeys) answer.stop_string = stop_at_end(answer.text, sampling.stop);
    if (answer.stop_string) {
      answer.reason = finish_reason::stop;
      if (!sampling.include_stop_str_in_output)
        answer.text.resize(answer.text.size() - answer.stop_string->size());
      return answer;
    }
    if (stops) answer.stop_token = token;
    if (ends || stops) return answer;
  }
  return answer;
}

bool stream_ledger::fits(const stream_entry& entry) const {
  const auto prompt = static_cast<std::int32_t>(entry.prompt.size());
  const sampling_params& params = entry.sampling;
  const std::int32_t output = params.max_tokens.value_or(params.grammar ? 1 : std::max(1, params.min_tokens));
  const scheduler_limits& limits = rules_.limits;
  return prompt > 0 && prompt + output <= limits.max_model_len &&
         prompt + output - 1 <= limits.num_blocks * limits.block_size;
}

std::int32_t stream_ledger::most_tokens(const stream_entry& entry) const {
  const auto prompt = static_cast<std::int32_t>(entry.prompt.size());
  const scheduler_limits& limits = rules_.limits;
  return entry.sampling.max_tokens.value_or(
      std::min(limits.max_model_len - prompt, limits.num_blocks * limits.block_size - prompt + 1));
}

void stream_ledger::open(request_id id, request_id first, const std::vector<token_id>& prompt,
                         const generation_request& request, std::int32_t index, steady_time now) {
  stream_entry entry;
  entry.prompt = prompt;
  entry.sampling = request.sampling;
  entry.timeout = rules_.request_timeout;
  if (request.timeout.count() > 0 && (entry.timeout.count() == 0 || request.timeout < entry.timeout))
    entry.timeout = request.timeout;
  entry.sampling.seed += static_cast<std::uint64_t>(index);
  entry.number = open_at_.size();
  entry.first = first;
  entry.is_choice = id != first;
  entry.asked = now;
  entry.fits = fits(entry);
  if (request.sampling.grammar) entry.grammar = &grammar_of(request.sampling.grammar);
  const bool is_served = entry.fits && (!entry.grammar || entry.grammar->compiled);
  if (is_served) entry.expected = answer_alone(entry.prompt, entry.sampling, most_tokens(entry));
  require(entries_.emplace(id, std::move(entry)).second, "two requests have one number");
  open_at_.push_back(++open_);
}

void stream_ledger::take(const stream_event& event, const std::set<request_id>& may_fail, steady_time now) {
  stream_entry& entry = entries_.at(event.id);
  require(!entry.ended, "an event came after the end");
  const bool owed = entry.received.empty() && !event.tokens.empty() && entry.sampling.prompt_logprobs;
  require(event.prompt_logprobs.size() == (owed ? entry.prompt.size() - 1 : 0U),
          "prompt log-probabilities are not told once, whole, with the first token");
  if (entry.received.empty() && entry.echoed.empty()) entry.echoed = event.prompt_tokens;
  require(event.tokens.empty() || entry.echoed == entry.prompt,
          "the prompt was not told with the first token");
  entry.received.insert(entry.received.end(), event.tokens.begin(), event.tokens.end());
  entry.text += event.text;
  require(entry.received.size() <= entry.expected.tokens.size() &&
              std::equal(entry.received.begin(), entry.received.end(), entry.expected.tokens.begin()),
          "a request has other tokens than alone");
  require(event.logprobs.size() == (entry.sampling.logprobs ? event.tokens.size() : 0U),
          "not one log-probability a token");
  require(is_prefix(entry.text, text_of(entry.received)), "a text is not that of its tokens");
  if (!event.end) return;
  entry.ended = true;
  --open_;
  take_end(entry, *event.end, may_fail.contains(event.id), now);
}

void stream_ledger::take_end(stream_entry& entry, const finished& end, bool may_fail, steady_time now) {
  require((end.reason == finish_reason::error) == end.failure.has_value(), "a failure without its error");
  if (end.failure) return take_failure(entry, *end.failure, may_fail, now);
  require(entry.fits, "what can never run was let in");
  require(end.tokens.prompt_tokens == static_cast<std::int32_t>(entry.prompt.size()), "wrong prompt usage");
  require(end.tokens.completion_tokens == static_cast<std::int32_t>(entry.received.size()), "wrong usage");
  require(end.tokens.cached_tokens < end.tokens.prompt_tokens, "a whole prompt came from the cache");
  counts_.cached_tokens += static_cast<std::uint64_t>(end.tokens.cached_tokens);
  if (end.reason == finish_reason::stop || end.reason == finish_reason::length)
    return check_answer(entry, end);
  require(entry.text == text_of(entry.received), "text was held back at an end that is no stop string");
  if (end.reason == finish_reason::abort) {
    require(entry.aborted, "an abort of nobody's");
    ++counts_.aborted;
  } else {
    require(entry.timeout.count() > 0 && entry.asked + entry.timeout <= now, "a request timed out too early");
    ++counts_.timed_out;
  }
}

void stream_ledger::take_failure(stream_entry& entry, const error& failure, bool may_fail, steady_time now) {
  if (failure.code == error_code::internal) {
    require(may_fail, "an internal error, and no actor was killed: " + failure.message);
    ++counts_.failed;
    return;
  }
  require(entry.received.empty(), "a request was refused after it had run: " + failure.message);
  const bool is_grammar_refused = entry.grammar && !entry.grammar->compiled;
  if (failure.code == error_code::context_length_exceeded)
    return require(!entry.fits, "a request that fits was refused for its length: " + failure.message);
  if (failure.code == error_code::invalid_argument) {
    require(!entry.fits || is_grammar_refused, "a request that is valid was refused: " + failure.message);
    if (!entry.fits) return;
    ++counts_.refused_grammars;
    if (entry.grammar->is_hard) ++counts_.hard_refusals;
    return;
  }
  require(entry.fits, "what can never run was refused for another reason: " + failure.message);
  require(failure.retry_after > 0, "a refusal says nothing of another try");
  stream_entry& first = entries_.at(entry.first);
  const bool was_queue_full = most_beside(first) >= rules_.limits.max_num_queued_requests +
                                                        static_cast<std::size_t>(rules_.limits.max_num_seqs);
  const bool may_give_way = was_queue_full && rules_.limits.policy == scheduling_policy::priority;
  // With all its answers, where it has not begun.
  const bool waited_too_long =
      rules_.queue_timeout.count() > 0 && first.asked + rules_.queue_timeout <= now && first.received.empty();
  if (failure.code == error_code::unavailable) {
    require(waited_too_long || may_give_way, "a queue deadline came too early");
    if (waited_too_long) {
      ++counts_.queue_refusals;
      return;
    }
  } else {
    require(
        failure.code == error_code::resource_exhausted &&
            (entry.is_choice ? first.found_queue_full || may_give_way || waited_too_long : was_queue_full),
        "a queue that is not full refused a request: " + failure.message);
    ++counts_.full_queues;
  }
  first.found_queue_full = true;
}

// How many others were open at the same time at most: some of them may have ended since it was refused.
std::size_t stream_ledger::most_beside(const stream_entry& entry) const {
  return *std::max_element(open_at_.begin() + static_cast<std::ptrdiff_t>(entry.number), open_at_.end()) - 1;
}

void stream_ledger::check_answer(const stream_entry& entry, const finished& end) {
  const plain_answer& expected = entry.expected;
  require(!entries_.at(entry.first).found_queue_full, "half of a refused request was let in");
  require(entry.received == expected.tokens, "a request ended too early");
  require(end.reason == expected.reason, "a request has the wrong reason");
  if (entry.grammar) check_text(entry);
  require(entry.text == expected.text, "a request has another text than alone");
  require(end.stop_string == expected.stop_string, "a request has the wrong stop string");
  require(end.stop_token == expected.stop_token, "a request has the wrong stop token");
  ++counts_.finished;
  if (expected.stop_string) ++counts_.stop_strings;
}

// What the grammar has ended is a text of it, whatever the engine's matcher says.
void stream_ledger::check_text(const stream_entry& entry) {
  require(entry.grammar->compiled != nullptr, "a request ran whose grammar is refused");
  if (entry.received.empty() || entry.received.back() != end_token) return;
  require(entry.grammar->has(text_of(entry.received)), "a text does not belong to its grammar");
  ++counts_.whole_texts;
  if (entry.grammar->is_hard) ++counts_.hard_texts;
}

std::vector<request_id> stream_ledger::open_requests() const {
  std::vector<request_id> ids;
  for (const auto& [id, entry] : entries_)
    if (!entry.ended) ids.push_back(id);
  return ids;
}

}  // namespace troupe::test
