#include "runtime/openai/prompt_echo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "runtime/utf8.hpp"

namespace troupe::openai {
namespace {

std::string sent_text(const generation_request& request) {
  const auto* text = std::get_if<text_prompt>(&request.prompt);
  return text == nullptr ? std::string() : text->text;
}

// Nothing is before the first token that it could be expected from.
token_logprobs of_first(token_id token) { return {token, std::numeric_limits<float>::quiet_NaN()}; }

// None where the prompt was not computed to its end.
bool has_prompt_logprobs(const stream_event& event) {
  return event.prompt_logprobs.size() + 1 == event.prompt_tokens.size();
}

void prepend_logprobs(stream_event& event) {
  std::vector<token_logprobs> all;
  all.reserve(event.prompt_tokens.size() + event.logprobs.size());
  all.push_back(of_first(event.prompt_tokens.front()));
  std::ranges::copy(event.prompt_logprobs, std::back_inserter(all));
  std::ranges::move(event.logprobs, std::back_inserter(all));
  event.logprobs = std::move(all);
}

// Log-probabilities that are not there would be taken for those of a text that is certain.
void fail_without_logprobs(stream_event& event) {
  finished end = event.end.value_or(finished{});
  end.failure = error{error_code::unavailable,
                      fmt::format("the prompt's log-probabilities were not computed: its request ended by {}",
                                  to_string(end.reason))};
  end.reason = finish_reason::error;
  event.end = std::move(end);
}

// A token was computed all the same: the prompt's log-probabilities come with it. Who was stopped before that
// has its own end.
void leave_out_answer(stream_event& event) {
  event.text.clear();
  event.tokens.clear();
  event.logprobs.clear();
  if (!event.end) return;
  if (event.end->reason != finish_reason::stop && event.end->reason != finish_reason::length) return;
  event.end->reason = finish_reason::length;
  event.end->stop_string.reset();
  event.end->stop_token.reset();
  event.end->tokens.completion_tokens = 0;
}

}  // namespace

prompt_echo::prompt_echo(const parsed_request& parsed, const token_namer& name)
    : wanted_(parsed.answer.echo),
      prompt_alone_(parsed.answer.prompt_alone),
      with_logprobs_(parsed.generation.sampling.logprobs.has_value()),
      n_(static_cast<std::size_t>(parsed.answer.n)),
      name_(name) {
  if (!wanted_) return;
  texts_.push_back(sent_text(parsed.generation));
  for (const generation_request& request : parsed.further) texts_.push_back(sent_text(request));
}

void prompt_echo::add_to(std::size_t index, stream_event& event) const {
  if (!wanted_) return;
  if (prompt_alone_) leave_out_answer(event);
  if (event.prompt_tokens.empty() || (event.end && event.end->failure)) return;
  if (with_logprobs_ && !has_prompt_logprobs(event)) return fail_without_logprobs(event);
  event.text.insert(0, text_of(index, event));
  if (with_logprobs_) prepend_logprobs(event);
}

std::string prompt_echo::text_of(std::size_t index, const stream_event& event) const {
  const std::string& sent = texts_[index / n_];
  if (!sent.empty() && !event.is_prompt_cut) return sent;
  std::string bytes;
  std::size_t first_end = 0;
  for (const token_id token : event.prompt_tokens) {
    bytes += name_(token);
    if (first_end == 0) first_end = bytes.size();
  }
  const auto is_rest = [&sent](std::string_view text) {
    return text.size() < sent.size() && sent.ends_with(text);
  };
  if (sent.empty() || is_rest(bytes)) return replace_invalid_utf8(bytes);
  // The begin-of-text token in front of it stays.
  const std::string behind_first = bytes.substr(first_end);
  return is_rest(behind_first) ? replace_invalid_utf8(behind_first) : sent;
}

}  // namespace troupe::openai
