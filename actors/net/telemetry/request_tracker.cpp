#include "actors/net/telemetry/request_tracker.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/openai/answer_parts.hpp"

namespace troupe::net {

request_tracker::request_tracker(const request_observers& observers, request_report begun)
    : observers_(observers), report_(std::move(begun)) {
  answers_.resize(static_cast<std::size_t>(report_.wishes->choices));
  report_.reasons.reserve(answers_.size());
}

// One that failed before its first token was refused, not answered.
request_tracker::~request_tracker() {
  if (!std::ranges::all_of(answers_, &answer::has_times)) add_seen_times();
  if (report_.given_up) cut_times();
  for (const answer& each : answers_) openai::add_choice(report_.tokens, each.tokens);
  if (!report_.failure || report_.tokens.completion_tokens > 0)
    for (const answer& each : answers_) report_.reasons.push_back(each.reason);
  tell_ended(observers_, std::move(report_));
}

void request_tracker::give_up() {
  report_.given_up = true;
  report_.ended = std::chrono::steady_clock::now();
}

bool request_tracker::all_ended() const { return std::ranges::all_of(answers_, &answer::ended); }

void request_tracker::add(std::size_t index, const stream_event& event) {
  answer& of = answers_[index];
  if (!event.prompt_tokens.empty())
    of.tokens.prompt_tokens = static_cast<std::int32_t>(event.prompt_tokens.size());
  of.tokens.completion_tokens += static_cast<std::int32_t>(event.tokens.size());
  of.tokens.cached_tokens += event.cached_tokens;
  if (event.times) add_times(*event.times);
  if (!event.tokens.empty()) {
    last_token_ = std::chrono::steady_clock::now();
    if (!first_token_) first_token_ = last_token_;
  }
  if (!event.end) return;
  of.ended = true;
  of.has_times = event.end->times.has_value();
  if (event.end->tokens.prompt_tokens > 0) of.tokens = event.end->tokens;
  if (!report_.given_up) of.reason = event.end->reason;
  add_end(*event.end);
}

void request_tracker::add_seen_times() {
  if (!first_token_) return;
  request_times& all = report_.times;
  if (all.arrival == steady_time{}) all.arrival = report_.received;
  if (!all.first_token) all.first_token = first_token_;
  if (last_token_ && (!all.last_token || *all.last_token < *last_token_)) all.last_token = last_token_;
}

void request_tracker::cut_times() {
  request_times& all = report_.times;
  const auto is_late = [this](const std::optional<steady_time>& time) {
    return time && *time > report_.ended;
  };
  all.arrival = std::min(all.arrival, report_.ended);
  if (is_late(all.scheduled)) all.scheduled.reset();
  if (is_late(all.first_token)) all.first_token.reset();
  if (is_late(all.last_token)) all.last_token = report_.ended;
  if (!all.first_token) all.last_token.reset();
}

void request_tracker::add_end(const finished& end) {
  if (end.failure && !report_.failure && !report_.given_up) report_.failure = failure_of(*end.failure);
  report_.preemptions += end.preemptions;
  report_.accepted_drafts += end.accepted_drafts;
  report_.grammar_wait = std::max(report_.grammar_wait, end.grammar_wait);
  if (end.times) add_times(*end.times);
}

void request_tracker::add_times(const request_times& of) {
  request_times& all = report_.times;
  if (all.arrival == steady_time{}) all.arrival = of.arrival;
  const auto keep = [](auto& kept, const auto& other, bool earlier) {
    if (other && (!kept || (*other < *kept) == earlier)) kept = other;
  };
  keep(all.scheduled, of.scheduled, true);
  keep(all.first_token, of.first_token, true);
  keep(all.last_token, of.last_token, false);
}

request_wishes wishes_of(const generation_request& request, const openai::answer_options& options) {
  const sampling_params& sampling = request.sampling;
  return {options.kind != openai::answer_kind::completion, request.n, sampling.max_tokens,
          sampling.temperature, sampling.top_p};
}

// No memory for a line, or a full disk: the request itself is not the worse for it.
void tell_ended(const request_observers& observers, request_report report) noexcept try {
  if (report.ended == steady_time{}) report.ended = std::chrono::steady_clock::now();
  for (const auto& observer : observers) observer->ended(report);
} catch (const std::exception&) {
}

}  // namespace troupe::net
