#include "runtime/openai/responses/response_items.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/grammar/tool_call_form.hpp"
#include "runtime/reasoning.hpp"

namespace troupe::openai {

std::vector<item_change> response_items::add(const stream_event& event) {
  using kind = response_item::kind;
  std::ranges::copy(event.logprobs, std::back_inserter(pending_));
  if (!event.reasoning.empty()) {
    pending_.clear();
    const kind thoughts = options_.reasoning_summary ? kind::summary : kind::reasoning;
    if (options_.include_reasoning) write(thoughts, event.reasoning, nullptr);
  }
  std::vector<answer_part> parts;
  if (options_.tool_calls) {
    parts = calls_.add(event.text);
    if (event.end) calls_.end(event.end->reason != finish_reason::stop, parts);
  } else if (!event.text.empty()) {
    parts.push_back({event.text});
  }
  for (const answer_part& part : parts)
    if (part.call) {
      write(kind::function_call, part.call->arguments, &*part.call);
    } else {
      write(kind::message, part.text, nullptr);
    }
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
    changes_.push_back({.index = items_.size() - 1, .begins = true});
    is_open_ = true;
    leave_out_marks(text);
  }
  response_item& into = items_.back();
  into.text += text;
  // Pieces that one event brings for one item are one change.
  if (changes_.empty() || changes_.back().index + 1 != items_.size())
    changes_.push_back({.index = items_.size() - 1});
  changes_.back().text += text;
  if (what == response_item::kind::message && !text.empty()) {
    std::ranges::copy(pending_, std::back_inserter(into.logprobs));
    std::ranges::move(pending_, std::back_inserter(changes_.back().logprobs));
  }
  pending_.clear();
}

// Of the tokens that are pending those that are no part of a text that begins so: the marks of what stands
// before it, and white space behind them.
void response_items::leave_out_marks(std::string_view text) {
  if (pending_.empty() || text.empty()) return;
  std::string spelled;
  std::vector<std::size_t> ends;
  for (const token_logprobs& each : pending_) ends.push_back((spelled += name_(each.token)).size());
  std::size_t begin = 0;
  for (const std::string_view mark : {reasoning_marks::closing, grammar::tool_call_form::after_arguments})
    if (const std::size_t at = spelled.rfind(mark); at != std::string::npos)
      begin = std::max(begin, at + mark.size());
  if (const std::size_t at = spelled.find(text, begin); at != std::string::npos) begin = at;
  const auto first = std::ranges::upper_bound(ends, begin);
  pending_.erase(pending_.begin(), pending_.begin() + (first - ends.begin()));
}

void response_items::close(bool is_complete) {
  items_.back().is_complete = is_complete;
  if (changes_.empty() || changes_.back().index + 1 != items_.size())
    changes_.push_back({.index = items_.size() - 1});
  changes_.back().ends = true;
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
  close(items_.back().what == kind::function_call ? !calls_.is_calling() : is_whole);
}

}  // namespace troupe::openai
