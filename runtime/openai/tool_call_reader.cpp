#include "runtime/openai/tool_call_reader.hpp"

#include <algorithm>
#include <utility>

#include "runtime/grammar/tool_calls.hpp"

namespace troupe::openai {
namespace {

using form = grammar::tool_call_form;

// How many bytes at the end of `text` may be the beginning of `what`; fewer than all of it.
std::size_t begun_at_end(std::string_view text, std::string_view what) {
  for (std::size_t bytes = std::min(text.size(), what.size() - 1); bytes > 0; --bytes)
    if (what.starts_with(text.substr(text.size() - bytes))) return bytes;
  return 0;
}

std::size_t without_space_at_end(std::string_view text) {
  return text.find_last_not_of(" \t\r\n") + 1;  // npos + 1: 0
}

}  // namespace

answer_part tool_call_reader::add(std::string_view piece) {
  kept_ += piece;
  answer_part into;
  while (place_ == place::content ? read_content(into)
         : place_ == place::name  ? read_name(into)
                                  : read_arguments(into)) {
  }
  return into;
}

// Whether there is more to read: each of these.
bool tool_call_reader::read_content(answer_part& into) {
  const std::size_t opening = kept_.find(form::before_name);
  const std::string_view before = std::string_view(kept_).substr(0, opening);
  const std::size_t open_end = opening == std::string::npos ? begun_at_end(before, form::before_name) : 0;
  const std::size_t told = without_space_at_end(before.substr(0, before.size() - open_end));
  into.content += before.substr(0, told);
  if (opening == std::string::npos) {
    kept_.erase(0, told);
    return false;
  }
  kept_.erase(0, opening);
  place_ = place::name;
  return true;
}

bool tool_call_reader::read_name(answer_part& into) {
  const std::size_t end = kept_.find(form::before_arguments, form::before_name.size());
  if (end == std::string::npos) return false;
  into.calls.push_back({begun_++, kept_.substr(form::before_name.size(), end - form::before_name.size())});
  kept_.erase(0, end + form::before_arguments.size());
  place_ = place::arguments;
  return true;
}

bool tool_call_reader::read_arguments(answer_part& into) {
  const std::size_t end = kept_.find(form::after_arguments);
  const bool is_over = end != std::string::npos;
  add_arguments(into, is_over ? end : kept_.size() - begun_at_end(kept_, form::after_arguments));
  if (!is_over) return false;
  kept_.erase(0, form::after_arguments.size());
  ++complete_;
  place_ = place::content;
  return true;
}

void tool_call_reader::add_arguments(answer_part& into, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t index = begun_ - 1;
  if (into.calls.empty() || into.calls.back().index != index) into.calls.push_back({index});
  into.calls.back().arguments += std::string_view(kept_).substr(0, bytes);
  kept_.erase(0, bytes);
}

void tool_call_reader::end(answer_part& into) {
  // Of the end's beginning only what may be the arguments' own is theirs.
  const bool is_in_end = kept_.find('<') != std::string::npos;
  if (place_ == place::arguments)
    add_arguments(into, is_in_end ? 0 : kept_.size());
  else if (begun_ == 0 || without_space_at_end(kept_) > 0)
    into.content += kept_;
  kept_.clear();
}

}  // namespace troupe::openai
