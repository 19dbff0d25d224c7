#include "runtime/openai/tool_call_reader.hpp"

#include "runtime/grammar/notations/tool_call_form.hpp"
#include "runtime/text_ends.hpp"

namespace troupe::openai {
namespace {

using form = grammar::tool_call_form;

// Whether a text whose end it is has opened a call.
bool is_opening(std::string_view text) {
  return text.substr(space_at_start(text)).starts_with(form::opening);
}

void add_text(std::vector<answer_part>& into, std::string_view text) {
  if (text.empty()) return;
  if (into.empty() || into.back().call) into.emplace_back();
  into.back().text += text;
}

}  // namespace

std::vector<answer_part> tool_call_reader::add(std::string_view piece) {
  kept_ += piece;
  std::vector<answer_part> into;
  bool goes_on = true;
  while (goes_on) switch (place_) {
      case place::content:
        goes_on = read_content(into);
        break;
      case place::name:
        goes_on = read_name(into);
        break;
      case place::arguments:
        goes_on = read_arguments(into);
        break;
      case place::closing:
        goes_on = read_closing();
    }
  return into;
}

// Whether there is more to read: each of these.
bool tool_call_reader::read_content(std::vector<answer_part>& into) {
  const mark_search opening = look_for(form::before_name, kept_);
  add_text(into, std::string_view(kept_).substr(0, opening.told));
  if (opening.found()) {
    space_ = opening.at - opening.told;
    place_ = place::name;
  }
  kept_.erase(0, opening.told);
  return opening.found();
}

bool tool_call_reader::read_name(std::vector<answer_part>& into) {
  const std::size_t begin = space_ + form::before_name.size();
  const std::size_t end = kept_.find(form::before_arguments, begin);
  if (end == std::string::npos) return false;
  into.push_back({.call = tool_call_part{begun_++, kept_.substr(begin, end - begin)}});
  kept_.erase(0, end + form::before_arguments.size());
  place_ = place::arguments;
  return true;
}

// How much of `text` is the arguments', an object, whose end it may hold.
std::size_t tool_call_reader::arguments_in(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == 0) {
      place_ = place::closing;
      return i + 1;
    }
  }
  return text.size();
}

bool tool_call_reader::read_arguments(std::vector<answer_part>& into) {
  const std::size_t bytes = arguments_in(kept_);
  if (bytes > 0) {
    const std::size_t index = begun_ - 1;
    const bool goes_on = !into.empty() && into.back().call && into.back().call->index == index;
    if (!goes_on) into.push_back({.call = tool_call_part{index}});
    into.back().call->arguments += std::string_view(kept_).substr(0, bytes);
    kept_.erase(0, bytes);
  }
  return place_ == place::closing;
}

bool tool_call_reader::read_closing() {
  if (kept_.size() < form::after_arguments.size()) return false;
  kept_.erase(0, form::after_arguments.size());
  ++complete_;
  place_ = place::content;
  return true;
}

void tool_call_reader::end(bool is_cut, std::vector<answer_part>& into) {
  // A call that was opened is one, however little of it there is.
  const bool is_call = place_ == place::name || (place_ == place::content && is_opening(kept_));
  const bool is_text = place_ == place::content && (begun_ == 0 || without_space_at_end(kept_) > 0);
  if (is_call) ++begun_;
  const bool may_be_call = is_cut && without_space_at_end(kept_) > 0;
  if (is_text && !is_call && !may_be_call) add_text(into, kept_);
  kept_.clear();
}

std::vector<answer_part> parts_of(std::string_view text, const finished* end, bool are_tools_offered,
                                  tool_call_reader& calls) {
  std::vector<answer_part> parts;
  if (!are_tools_offered) {
    add_text(parts, text);
    return parts;
  }
  parts = calls.add(text);
  if (end != nullptr) calls.end(end->reason != finish_reason::stop, parts);
  return parts;
}

}  // namespace troupe::openai
