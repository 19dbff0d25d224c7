#include "actors/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/lost_part.hpp"
#include "actors/messaging/measured.hpp"
#include "actors/net/sockets/abandonable_work.hpp"
#include "actors/time_of_day.hpp"
#include "actors/tokenizer/prompt_size.hpp"
#include "runtime/engine/prompt.hpp"
#include "runtime/engine/prompt_reasoning.hpp"
#include "runtime/engine/truncate_prompt.hpp"
#include "runtime/least_tokens.hpp"
#include "runtime/longest_context.hpp"
#include "runtime/openai/error_body.hpp"
#include "runtime/utf8.hpp"

namespace troupe {
namespace {

std::optional<metrics::seconds> since(steady_time arrival, const std::optional<steady_time>& moment) {
  if (!moment) return std::nullopt;
  return metrics::in_seconds(*moment - arrival);
}

}  // namespace

void tokenizer_state::start(tokenizer_parts parts) {
  parts_ = std::move(parts);
  processor_ = std::make_unique<output_processor>(parts_.vocabulary);
}

// One request's fault, even one nobody thought of, must not end the others of its shard.
void tokenizer_state::generate(const msg::generate& message, const generation_request& request,
                               const gateway_actor& gateway) try {
  if (closed_) return refuse(message, request.n, gateway, *closed_);
  result<encoded_prompt> prompt = prompt_of(message, request);
  if (!prompt) return refuse(message, request.n, gateway, std::move(prompt.error()));
  open(message, request, gateway, std::move(*prompt));
} catch (const std::exception& fault) {
  faults_.error(self_->clock().now(), fmt::format("request {} could not be tokenized", message.id), fault);
  streams_.erase(message.id);
  processor_->end(message.id, finish_reason::error);
  refuse(message, request.n, gateway, {error_code::internal, "the request could not be tokenized"});
}

result<tokenizer_state::encoded_prompt> tokenizer_state::prompt_of(const msg::generate& message,
                                                                   const generation_request& request) {
  if (request.n == 1) return encode(request, message.asked_at);
  // Another gateway's answers may come between: then the prompt is encoded again.
  if (!shared_prompt_ || shared_prompt_->first != message.first)
    shared_prompt_ = shared_prompt{message.first, encode(request, message.asked_at)};
  result<encoded_prompt> prompt = shared_prompt_->prompt;
  if (message.index + 1 == request.n) shared_prompt_.reset();
  return prompt;
}

result<tokenizer_state::encoded_prompt> tokenizer_state::encode(const generation_request& request,
                                                                std::int64_t asked_at) const {
  const abandonable_work in_progress;
  if (const auto valid = validate(request.sampling, parts_.limits); !valid)
    return tl::unexpected<error>(valid.error());
  if (!parts_.allow_auto_truncate && prompt_bytes(request) > parts_.max_prompt_bytes)
    return fail(error_code::context_length_exceeded,
                fmt::format("{}. However, the prompt is longer", longest_context(parts_.max_model_len)),
                std::string(field_of_prompt(request)));
  result<std::vector<token_id>> tokens =
      build_prompt(request, *parts_.vocabulary, *parts_.chat, local_time(asked_at));
  if (!tokens) return tl::unexpected<error>(tokens.error());
  encoded_prompt prompt{.tokens = std::move(*tokens), .max_tokens = request.sampling.max_tokens};
  prompt.reasoning = reasoning_of(request, prompt.tokens, *parts_.vocabulary, *parts_.chat);
  prompt.grammar = after_reasoning(request.sampling.grammar, prompt.reasoning);
  if (parts_.allow_auto_truncate) cut(prompt, request);
  const auto left = parts_.max_sequence_len - static_cast<std::int64_t>(prompt.tokens.size());
  if (request.max_tokens_is_default && prompt.max_tokens > left) prompt.max_tokens.reset();
  return prompt;
}

void tokenizer_state::cut(encoded_prompt& prompt, const generation_request& request) const {
  const std::size_t size = prompt.tokens.size();
  const auto asked_for = request.max_tokens_is_default ? std::nullopt : prompt.max_tokens;
  const truncation done = truncate_prompt(prompt.tokens, parts_.max_sequence_len, asked_for,
                                          parts_.vocabulary->bos(), least_tokens(request.sampling));
  if (done.max_tokens) prompt.max_tokens = done.max_tokens;
  prompt.is_cut = done.dropped > 0;
  prompt.warning = describe(done, size, parts_.max_sequence_len, request.sampling.max_tokens_field);
}

void tokenizer_state::open(const msg::generate& message, const generation_request& request,
                           const gateway_actor& gateway, encoded_prompt prompt) {
  auto submission = std::make_shared<engine_request>();
  submission->id = message.id;
  submission->prompt = std::move(prompt.tokens);
  submission->prompt_field = field_of_prompt(request);
  auto sampling = std::make_shared<sampling_params>(request.sampling);
  sampling->seed += static_cast<std::uint64_t>(message.index);
  sampling->max_tokens = prompt.max_tokens;
  sampling->grammar = std::move(prompt.grammar);
  submission->sampling = std::move(sampling);
  submission->arrival = message.arrival;
  submission->priority = request.priority;
  submission->tenant = request.user;
  submission->cache_salt = request.cache_salt;
  if (message.index > 0) submission->fork_of = message.first;
  submission->joins = request.joins;
  // Longer ones are more than a clock can tell.
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 365};
  if (const auto timeout = timeout_of(request); timeout.count() > 0)
    submission->deadline = message.arrival + std::min(timeout, longest);
  if (parts_.queue_timeout.count() > 0)
    submission->queue_deadline = message.arrival + std::min(parts_.queue_timeout, longest);

  processor_->open(message.id, submission->prompt, submission->sampling, prompt.reasoning);
  stream entry;
  entry.gateway = gateway;
  entry.arrival = message.arrival;
  entry.max_tokens = prompt.max_tokens;
  entry.is_prompt_cut = prompt.is_cut;
  entry.warnings = request.warnings;
  if (!prompt.warning.empty()) entry.warnings.push_back(std::move(prompt.warning));
  if (const auto& grammar = request.sampling.grammar)
    entry.warnings.insert(entry.warnings.end(), grammar->warnings.begin(), grammar->warnings.end());
  entry.first = message.first;
  entry.n = request.n;
  entry.submitted = std::move(submission);
  entry.submitted_as = out_.send(scheduler_, msg::submit{message.id}, entry.submitted);
  streams_.emplace(message.id, std::move(entry));
}

void tokenizer_state::meet(const company_roster& roster) {
  if (roster.scheduler != scheduler_) {
    scheduler_ = roster.scheduler;
    // Of the one before, or asked for while there was none.
    deliver(0, processor_->end_all(lost_part()));
  }
  const auto is_gone = [&roster](const gateway_actor& gateway) {
    return gateway != roster.gateway && std::ranges::count(roster.socket_gateways, gateway) == 0;
  };
  for (auto& [id, entry] : streams_)
    if (is_gone(entry.gateway)) {
      entry.has_lost_gateway = true;
      tell_aborted(id, entry);
    }
}

// The service's own binds whoever asks for longer.
std::chrono::nanoseconds tokenizer_state::timeout_of(const generation_request& request) const {
  const std::chrono::nanoseconds own = parts_.request_timeout;
  if (request.timeout.count() <= 0) return own;
  return own.count() > 0 ? std::min(own, request.timeout) : request.timeout;
}

void tokenizer_state::refuse(const msg::generate& message, std::int32_t n, const gateway_actor& gateway,
                             error failure) {
  choice_ended(message.first, n, std::nullopt);
  stream_event event;
  event.id = message.id;
  event.end.emplace();
  event.end->reason = finish_reason::error;
  event.end->failure = std::move(failure);
  auto events = std::make_shared<const stream_batch>(1, std::move(event));
  out_.send(gateway, msg::stream_output{0}, stream_batch_ptr(std::move(events)));
}

void tokenizer_state::abort(request_id id) {
  if (const auto found = streams_.find(id); found != streams_.end()) tell_aborted(id, found->second);
}

void tokenizer_state::tell_aborted(request_id id, stream& of) {
  of.is_aborted = true;
  out_.send(scheduler_, msg::abort{id});
}

// What is not told of may have ended meanwhile, and nobody may have heard of that.
void tokenizer_state::send_again(const msg::send_again& lost) {
  std::vector<request_id> open;
  for (auto& [id, entry] : streams_) {
    open.push_back(id);
    if (entry.submitted && entry.submitted_as - lost.first < lost.count)
      entry.submitted_as = out_.send(scheduler_, msg::submit{id}, entry.submitted);
    if (entry.is_aborted) out_.send(scheduler_, msg::abort{id});
  }
  out_.send(scheduler_, msg::still_open{std::move(open)});
}

void tokenizer_state::output(const msg::token_output& message, const token_batch& batch) {
  for (const msg::first_step& first : message.scheduled) {
    const auto found = streams_.find(first.id);
    if (found == streams_.end()) continue;
    found->second.scheduled = message.step_began;
    found->second.submitted.reset();
    found->second.grammar_wait = std::chrono::nanoseconds(first.grammar_wait);
  }
  output_processor::step_output out = processor_->process(batch);
  if (!out.stopped.empty()) out_.send(scheduler_, msg::stopped{std::move(out.stopped)});
  deliver(message.step, std::move(out.events));
}

void tokenizer_state::deliver(std::uint64_t step, stream_batch events) {
  // A company has two or three gateways: a linear search finds one soonest.
  std::vector<std::pair<gateway_actor, stream_batch>> batches;
  std::uint64_t tokens = 0;
  for (stream_event& event : events) {
    const auto found = streams_.find(event.id);
    if (found == streams_.end()) continue;
    tokens += event.tokens.size();
    const bool had_tokens = found->second.first_token.has_value();
    if (event.end && event.tokens.empty()) fail_unbegun(*event.end, found->second);
    observe(event, found->second);
    if (!had_tokens && !event.tokens.empty()) event.times = times_of(found->second);
    if (event.end) tell_history(*event.end, found->second);
    if (!event.prompt_tokens.empty()) event.is_prompt_cut = found->second.is_prompt_cut;
    if (!found->second.warnings.empty()) event.warnings = std::exchange(found->second.warnings, {});
    auto batch = batches.begin();
    while (batch != batches.end() && batch->first != found->second.gateway) ++batch;
    if (batch == batches.end()) batch = batches.insert(batch, {found->second.gateway, {}});
    if (event.end) streams_.erase(found);
    batch->second.push_back(std::move(event));
  }
  if (tokens > 0) parts_.metrics->add_generation_tokens(tokens);
  for (auto& [gateway, batch] : batches) {
    auto payload = std::make_shared<const stream_batch>(std::move(batch));
    out_.send(gateway, msg::stream_output{step}, stream_batch_ptr(std::move(payload)));
  }
  answer_drain();
}

// A request that the service cuts off before its first token is refused, so that its client may ask another
// service.
void tokenizer_state::fail_unbegun(finished& end, const stream& of) const {
  if (!of.is_cut_off || end.reason != finish_reason::abort || of.first_token) return;
  if (of.n > 1 && has_begun(of.first)) return;
  end.reason = finish_reason::error;
  end.failure = shutting_down();
}

// Any of the request's answers.
bool tokenizer_state::has_begun(request_id first) const {
  const auto choices = choices_.find(first);
  if (choices != choices_.end() && choices->second.most_tokens > 0) return true;
  return std::ranges::any_of(streams_, [first](const auto& entry) {
    return entry.second.first == first && entry.second.first_token.has_value();
  });
}

void tokenizer_state::observe(const stream_event& event, stream& from) {
  const steady_time now = self_->clock().now();
  if (!event.tokens.empty()) {
    if (from.last_token)
      parts_.metrics->observe_inter_token(metrics::in_seconds(now - *from.last_token));
    else
      parts_.metrics->observe_first_token(metrics::in_seconds(now - from.arrival));
    if (!from.first_token) from.first_token = now;
    from.last_token = now;
  }
  if (event.end) observe_end(*event.end, from);
}

request_times tokenizer_state::times_of(const stream& of) {
  return {of.arrival, of.scheduled, of.first_token, of.last_token};
}

void tokenizer_state::tell_history(finished& end, const stream& of) {
  end.grammar_wait = std::max(end.grammar_wait, of.grammar_wait);
  end.times = times_of(of);
}

void tokenizer_state::observe_end(const finished& end, const stream& from) {
  // The scheduler's refusals count like those made here.
  const bool is_refused = end.failure && openai::http_status(end.failure->code) < 500 && !from.scheduled;
  if (end.reason == finish_reason::error && is_refused) return choice_ended(from.first, from.n, std::nullopt);
  metrics::request_record record;
  // Whose gateway has gone was told so, however the request ends after that.
  record.finished_reason = to_string(from.has_lost_gateway ? finish_reason::error : end.reason);
  record.prompt_tokens = end.tokens.prompt_tokens;
  record.generation_tokens = end.tokens.completion_tokens;
  if (from.max_tokens) record.max_tokens = *from.max_tokens;
  record.scheduled = since(from.arrival, from.scheduled);
  record.first_token = since(from.arrival, from.first_token);
  record.last_token = since(from.arrival, from.last_token);
  record.ended = metrics::in_seconds(self_->clock().now() - from.arrival);
  parts_.metrics->observe_request(record);
  choice_ended(from.first, from.n, end.tokens.completion_tokens);
}

void tokenizer_state::choice_ended(request_id first, std::int32_t n, std::optional<std::int32_t> tokens) {
  const auto found = choices_.try_emplace(first, open_choices{n}).first;
  open_choices& request = found->second;
  request.any_opened = request.any_opened || tokens;
  request.most_tokens = std::max(request.most_tokens, tokens.value_or(0));
  if (--request.left > 0) return;
  if (request.any_opened) parts_.metrics->observe_choices({n, request.most_tokens});
  choices_.erase(found);
}

void tokenizer_state::convert(text_call& call, std::int64_t asked_at) try {
  const abandonable_work in_progress;
  if (const net::tokenize_request* request = call.to_tokenize()) {
    call.reply(tokenize(*request, asked_at));
  } else if (const std::vector<token_id>* tokens = call.to_detokenize()) {
    call.reply(detokenize(*tokens));
  }
} catch (const std::exception& fault) {
  faults_.error(self_->clock().now(), "a text could not be converted", fault);
  call.fail({error_code::internal, "the text could not be converted"});
}

// Unlike a prompt, a text may be empty here.
result<std::vector<token_id>> tokenizer_state::to_tokens(const net::tokenize_request& request,
                                                         std::int64_t asked_at) const {
  if (const text_prompt* text = std::get_if<text_prompt>(&request.prompt))
    return parts_.vocabulary->encode(text->text, {.add_special_tokens = text->add_special_tokens});
  generation_request chat;
  chat.prompt = std::get<chat_prompt>(request.prompt);
  return build_prompt(chat, *parts_.vocabulary, *parts_.chat, local_time(asked_at));
}

result<net::tokenize_reply> tokenizer_state::tokenize(const net::tokenize_request& request,
                                                      std::int64_t asked_at) const {
  result<std::vector<token_id>> tokens = to_tokens(request, asked_at);
  if (!tokens) return tl::unexpected<error>(tokens.error());
  return net::tokenize_reply{std::move(*tokens)};
}

result<std::string> tokenizer_state::detokenize(const std::vector<token_id>& tokens) const {
  for (const token_id id : tokens)
    if (id < 0 || id >= parts_.vocabulary->vocab_size())
      return fail(error_code::invalid_argument, fmt::format("token {} is outside the vocabulary", id),
                  "tokens");
  return replace_invalid_utf8(parts_.vocabulary->decode(tokens, false));
}

void tokenizer_state::company_failed() {
  closed_ = lost_part(error_code::unavailable);
  abort_all();
  deliver(0, processor_->end_all(lost_part()));
}

void tokenizer_state::reload(const company_limits& limits) {
  parts_.request_timeout = limits.request_timeout;
  parts_.queue_timeout = limits.queue_timeout;
}

void tokenizer_state::abort_all() {
  for (auto& [id, entry] : streams_) {
    if (!entry.is_aborted) {
      ++aborted_;
      entry.is_cut_off = true;
    }
    tell_aborted(id, entry);
  }
}

caf::result<msg::drained> tokenizer_state::drain() {
  if (!closed_) closed_ = shutting_down();
  auto promise = self_->make_response_promise<msg::drained>();
  drains_.push_back(promise);
  answer_drain();
  return promise;
}

void tokenizer_state::answer_drain() {
  if (!streams_.empty()) return;
  for (auto& promise : std::exchange(drains_, {})) promise.deliver(msg::drained{aborted_});
}

tokenizer_actor::behavior_type tokenizer_behavior(tokenizer_actor::stateful_pointer<tokenizer_state> self,
                                                  tokenizer_parts parts) {
  const auto metrics = parts.metrics;
  self->state.start(std::move(parts));
  return measured(
      self, metrics,
      [self](const msg::meet&, const company_roster_ptr& roster) { self->state.meet(*roster); },
      [self](const msg::generate& message, const generation_request_ptr& request,
             const gateway_actor& gateway) { self->state.generate(message, *request, gateway); },
      [self](const msg::abort& message) { self->state.abort(message.id); },
      [self](const msg::token_output& message, const token_batch_ptr& batch) {
        self->state.output(message, *batch);
      },
      [self](const msg::convert_text& message, const text_call_ptr& call) {
        self->state.convert(*call, message.asked_at);
      },
      [self](const msg::company_failed&) { self->state.company_failed(); },
      [self](const msg::abort_all&) { self->state.abort_all(); },
      [self](const msg::reload&, const company_limits_ptr& limits) { self->state.reload(*limits); },
      [self](const msg::drain&) { return self->state.drain(); },
      [self](const msg::count&) { return self->state.count(); },
      [self](const msg::take_stock& stock) { self->state.take_stock(stock); },
      [self](const msg::send_again& lost) { self->state.send_again(lost); });
}

}  // namespace troupe
