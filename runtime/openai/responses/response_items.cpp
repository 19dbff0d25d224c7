#include "runtime/openai/responses/response_items.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/grammar/notations/tool_call_form.hpp"

namespace troupe::openai {

std::vector<item_change> response_items::add(const stream_event& event) {
  using kind = response_item::kind;
  if (!event.reasoning.empty()) {
    pending_.clear();
    mark_before_ = reasoning_marks::closing;
  }
  std::ranges::copy(event.logprobs, std::back_inserter(pending_));
  const kind thoughts = options_.reasoning_summary ? kind::summary : kind::reasoning;
  if (!event.reasoning.empty() && options_.include_reasoning) write(thoughts, event.reasoning, nullptr);
  const auto parts = parts_of(event.text, event.end ? &*event.end : nullptr, options_.tool_calls, calls_);
  for (const answer_part& part : parts)
    if (part.call) {
      write(kind::function_call, part.call->arguments, &*part.call);
    } else {
      write(kind::message, part.text, nullptr);
    }
  const bool is_text_next = parts.empty() ? event.reasoning.empty() : !parts.back().call;
  if (!is_text_next) pending_.clear();
  if (event.end) end(*event.end);
  return std::exchange(changes_, {});
}

void response_items::write(response_item::kind what, std::string_view text, const tool_call_part* call) {
  const bool goes_on =
      is_open_ && items_.back().what == what && (call == nullptr || items_.back().call == call->index);
  if (!goes_on) {
    if (is_open_) close(true);
    items_.push_back({.what = what});
    if (call != nullptr) {
      items_.back().name = call->name;
      items_.back().call = call->index;
    }
    change_of_last().begins = true;
    is_open_ = true;
  }
  response_item& into = items_.back();
  into.text += text;
  change_of_last().text += text;
  if (call != nullptr) mark_before_ = grammar::tool_call_form::after_arguments;
  if (what != response_item::kind::message || text.empty()) return;
  const std::vector<token_logprobs> tokens = take_logprobs(text);
  mark_before_ = {};
  std::ranges::copy(tokens, std::back_inserter(into.logprobs));
  std::ranges::copy(tokens, std::back_inserter(change_of_last().logprobs));
}

// Of the tokens that are pending those that spell the text. Those before it are of marks, of what stands
// between these, and of white space that is left out; those behind it have not been shown yet. Where they do
// not spell it, as where bytes that are no characters were replaced, all of them are taken.
std::vector<token_logprobs> response_items::take_logprobs(std::string_view text) {
  if (pending_.empty()) return {};
  std::string spelled;
  std::vector<std::size_t> ends;
  for (const token_logprobs& each : pending_) ends.push_back((spelled += name_(each.token)).size());
  const std::size_t mark = spelled.find(mark_before_);
  std::size_t begin = mark == std::string::npos ? 0 : mark + mark_before_.size();
  std::size_t end = spelled.size();
  std::size_t at = spelled.find(text, begin);
  if (at == std::string::npos) at = spelled.find(text);
  if (at != std::string::npos) {
    begin = at;
    end = at + text.size();
  }
  const auto first = pending_.begin() + (std::ranges::upper_bound(ends, begin) - ends.begin());
  const auto last_end = std::ranges::lower_bound(ends, end);
  const auto last =
      last_end == ends.end() ? pending_.end() : pending_.begin() + (last_end - ends.begin()) + 1;
  std::vector<token_logprobs> taken(first, last);
  pending_.erase(pending_.begin(), last);
  return taken;
}

// One change for all that an event brings for it.
item_change& response_items::change_of_last() {
  if (changes_.empty() || changes_.back().index + 1 != items_.size())
    changes_.push_back({.index = items_.size() - 1});
  return changes_.back();
}

void response_items::close(bool is_complete) {
  items_.back().is_complete = is_complete;
  change_of_last().ends = true;
  is_open_ = false;
}

void response_items::end(const finished& how) {
  using kind = response_item::kind;
  const bool is_whole = how.reason == finish_reason::stop;
  const bool has_answered = std::ranges::any_of(items_, [](const response_item& item) {
    return item.what == kind::message || item.what == kind::function_call;
  });
  if (is_whole && !has_answered && !calls_.is_calling()) write(kind::message, {}, nullptr);
  if (!is_open_) return;
  close(items_.back().what == kind::function_call ? calls_.is_complete(items_.back().call) : is_whole);
}

}  // namespace troupe::openai
