#include "runtime/output/output_processor.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/output/reasoning_reader.hpp"
#include "runtime/output/text_stream.hpp"

namespace troupe {
namespace {

struct stream {
  text_stream text;
  reasoning_reader reasoning;
  std::vector<token_id> prompt;  // until the first event has taken it
  std::shared_ptr<const sampling_params> sampling;
  usage tokens;
  std::int32_t preemptions = 0;
  std::int32_t accepted_drafts = 0;
};

// The prompt's text, if it has any, stands before the stream's.
bool begins_text(const tokenizer& tokenizer, const std::vector<token_id>& prompt, bool skip_special_tokens) {
  return std::all_of(prompt.begin(), prompt.end(),
                     [&](token_id id) { return skip_special_tokens && tokenizer.is_special(id); });
}

finished finish(stream& stream, finish_reason reason, std::optional<error> failure) {
  finished end;
  end.reason = reason;
  end.failure = std::move(failure);
  end.tokens = stream.tokens;
  end.tokens.completion_tokens = stream.text.tokens();
  end.preemptions = stream.preemptions;
  end.accepted_drafts = stream.accepted_drafts;
  return end;
}

void read_details(stream& stream, const token_details& details, stream_event& out) {
  out.prompt_logprobs = details.prompt_logprobs;
  if (details.cached_tokens > 0) stream.tokens.cached_tokens = out.cached_tokens = details.cached_tokens;
  if (details.preemptions > 0) stream.preemptions = details.preemptions;
  stream.accepted_drafts += details.accepted_drafts;
}

// The token that ended the request belongs to it, but is not text.
bool is_hidden_end(const tokenizer& tokenizer, const stream& stream, const token_event& event) {
  if (!event.end || event.end->reason != finish_reason::stop || stream.sampling->include_stop_str_in_output)
    return false;
  return event.end->stop_token == event.tokens.back() || tokenizer.is_end_of_generation(event.tokens.back());
}

void show(const reasoning_reader::parts& said, stream_event& out) {
  out.reasoning += said.reasoning;
  out.text += said.answer;
}

// The next token's text. False: a stop string ended the stream.
bool read_token(stream& stream, token_id token, stream_event& out) {
  reasoning_reader& reasoning = stream.reasoning;
  if (reasoning.is_done()) return !stream.text.push(token, out.text);
  const bool was_over = reasoning.is_over();
  std::string text;
  const bool is_stopped = stream.text.push(token, text);
  show(reasoning.add(text), out);
  if (!was_over) ++stream.tokens.reasoning_tokens;
  if (reasoning.is_over() && !reasoning.has_reasoned()) stream.tokens.reasoning_tokens = 0;
  return !is_stopped;
}

// Behind the last token: what was held back.
void read_rest(stream& stream, stream_event& out) {
  show(stream.reasoning.add(stream.text.finish()), out);
  show(stream.reasoning.end(), out);
  if (!stream.reasoning.has_reasoned()) stream.tokens.reasoning_tokens = 0;
}

// Reads the event's tokens into `out`; false: a stop string ended the stream.
bool read_tokens(const tokenizer& tokenizer, stream& stream, const token_event& event, stream_event& out) {
  for (std::size_t at = 0; at < event.tokens.size(); ++at) {
    out.tokens.push_back(event.tokens[at]);
    if (event.details && at < event.details->logprobs.size())
      out.logprobs.push_back(event.details->logprobs[at]);
    if (at + 1 == event.tokens.size() && is_hidden_end(tokenizer, stream, event)) {
      stream.text.push_silent();
    } else if (!read_token(stream, event.tokens[at], out)) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct output_processor::state {
  tokenizer_ptr tokenizer;
  std::unordered_map<request_id, stream> streams;
};

output_processor::output_processor(tokenizer_ptr tokenizer) : state_(std::make_unique<state>()) {
  state_->tokenizer = std::move(tokenizer);
}
output_processor::~output_processor() = default;
output_processor::output_processor(output_processor&&) noexcept = default;
output_processor& output_processor::operator=(output_processor&&) noexcept = default;

void output_processor::open(request_id id, std::vector<token_id> prompt,
                            std::shared_ptr<const sampling_params> sampling, reasoning_start reasoning) {
  const bool at_start = begins_text(*state_->tokenizer, prompt, sampling->skip_special_tokens);
  text_stream text(state_->tokenizer, *sampling, at_start);
  const auto prompt_tokens = static_cast<std::int32_t>(prompt.size());
  state_->streams.try_emplace(id, stream{std::move(text),
                                         reasoning_reader(reasoning),
                                         std::move(prompt),
                                         std::move(sampling),
                                         {prompt_tokens, 0}});
}

output_processor::step_output output_processor::process(const token_batch& batch) {
  step_output out;
  out.events.reserve(batch.size());
  for (const auto& event : batch) {
    const auto found = state_->streams.find(event.id);
    if (found == state_->streams.end()) continue;
    auto& stream = found->second;
    auto& shown = out.events.emplace_back();
    shown.id = event.id;
    shown.prompt_tokens = std::exchange(stream.prompt, {});
    if (event.details) read_details(stream, *event.details, shown);
    if (!read_tokens(*state_->tokenizer, stream, event, shown)) {
      read_rest(stream, shown);
      shown.end = finish(stream, finish_reason::stop, {});
      shown.end->stop_string = stream.text.stopped_by();
      // The scheduler has ended the request by itself where its own end stands in this event.
      if (!event.end) out.stopped.push_back(event.id);
    } else if (event.end) {
      read_rest(stream, shown);
      shown.end = finish(stream, event.end->reason, event.end->failure);
      shown.end->stop_token = event.end->stop_token;
      shown.end->preemptions = std::max(shown.end->preemptions, event.end->preemptions);
      shown.end->grammar_wait = event.end->grammar_wait;
    }
    if (shown.end) state_->streams.erase(found);
  }
  return out;
}

std::optional<stream_event> output_processor::end(request_id id, finish_reason reason,
                                                  std::optional<error> failure) {
  const auto found = state_->streams.find(id);
  if (found == state_->streams.end()) return std::nullopt;
  stream_event last;
  last.id = id;
  read_rest(found->second, last);
  last.prompt_tokens = std::move(found->second.prompt);
  last.end = finish(found->second, reason, std::move(failure));
  state_->streams.erase(found);
  return last;
}

stream_batch output_processor::end_all(const error& failure) {
  std::vector<request_id> ids;
  ids.reserve(size());
  for (const auto& [id, stream] : state_->streams) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  stream_batch events;
  for (const auto id : ids) events.push_back(*end(id, finish_reason::error, failure));
  return events;
}

std::size_t output_processor::size() const { return state_->streams.size(); }

}  // namespace troupe
