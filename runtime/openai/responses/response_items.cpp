#include "runtime/openai/responses/response_items.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::openai {

std::vector<item_change> response_items::add(const stream_event& event) {
  using kind = response_item::kind;
  std::ranges::copy(event.logprobs, std::back_inserter(pending_));
  if (!event.reasoning.empty()) {
    pending_.clear();
    if (options_.include_reasoning) write(kind::reasoning, event.reasoning, nullptr);
  }
  std::vector<answer_part> parts;
  if (options_.tool_calls) {
    parts = calls_.add(event.text);
    if (event.end) calls_.end(parts);
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
  const bool has_answered =
      std::ranges::any_of(items_, [](const response_item& item) { return item.what != kind::reasoning; });
  if (is_whole && !has_answered) write(kind::message, {}, nullptr);
  if (!is_open_) return;
  close(items_.back().what == kind::function_call ? calls_.has_called() : is_whole);
}

}  // namespace troupe::openai
