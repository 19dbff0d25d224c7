#include "runtime/openai/whole_answer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::openai {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

}  // namespace

whole_answer::whole_answer(answer_identity identity, const answer_options& options, bool with_logprobs,
                           const token_namer& name)
    : identity_(std::move(identity)),
      options_(options),
      with_logprobs_(with_logprobs),
      style_{name, options.return_tokens_as_token_ids},
      choices_(static_cast<std::size_t>(options.choices())) {}

void whole_answer::add(std::size_t index, stream_event event) {
  choice& into = choices_[index];
  into.reasoning += event.reasoning;
  into.text += event.text;
  append(into.tokens, std::move(event.tokens));
  append(into.logprobs, std::move(event.logprobs));
  append(into.prompt_tokens, std::move(event.prompt_tokens));
  append(into.prompt_logprobs, std::move(event.prompt_logprobs));
  for (std::string& warning : event.warnings)
    if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(std::move(warning));
  if (!event.end) return;
  ++ended_;
  if (!failure_) failure_ = failure_of(*event.end);
  into.end = std::move(event.end);
}

usage whole_answer::used() const {
  std::vector<usage> each;
  for (const choice& from : choices_) each.push_back(from.end ? from.end->tokens : usage{});
  return usage_of(each, options_.n);
}

std::string whole_answer::body() const {
  const bool chat = options_.kind == answer_kind::chat;
  std::string body;
  json_writer out(body);
  out.begin_object();
  write_identity(out, identity_, chat ? "chat.completion" : "text_completion");
  out.key("choices").begin_array();
  for (std::size_t index = 0; index < choices_.size(); ++index) write_choice(out, index);
  out.end_array().key("usage");
  write_usage(out, used());
  if (chat) write_prompt_parts(out, choices_.front());
  write_warnings(out, warnings_);
  out.end_object();
  return body;
}

void whole_answer::write_message(json_writer& out, std::size_t index, std::string_view reasoning,
                                 const std::vector<answer_part>& said) const {
  std::string content;
  std::vector<const tool_call_part*> calls;
  for (const answer_part& part : said) {
    content += part.text;
    if (part.call) calls.push_back(&*part.call);
  }
  out.key("message").begin_object().key("role").string("assistant").key("content");
  if (content.empty() && !calls.empty()) {
    out.null();
  } else {
    out.string(content);
  }
  if (!reasoning.empty()) out.key("reasoning_content").string(reasoning);
  out.key("refusal").null();
  if (!calls.empty()) {
    out.key("tool_calls").begin_array();
    for (const tool_call_part* const call : calls) {
      out.begin_object();
      write_call_id(out, identity_.call_id, index, call->index);
      out.key("function").begin_object().key("name").string(call->name);
      out.key("arguments").string(call->arguments).end_object().end_object();
    }
    out.end_array();
  }
  out.end_object();
}

void whole_answer::write_choice(json_writer& out, std::size_t index) const {
  const bool chat = options_.kind == answer_kind::chat;
  const choice& from = choices_[index];
  tool_call_reader calls;
  out.begin_object().key("index").integer(static_cast<std::int64_t>(index));
  if (chat) {
    const auto said = parts_of(from.text, from.end ? &*from.end : nullptr, options_.tool_calls, calls);
    write_message(out, index, options_.include_reasoning ? from.reasoning : std::string_view(), said);
  } else {
    out.key("text").string(from.text);
  }
  out.key("logprobs");
  text_position at;
  if (!with_logprobs_) {
    out.null();
  } else if (chat) {
    write_chat_logprobs(out, from.logprobs, style_);
  } else {
    write_completion_logprobs(out, from.logprobs, style_, at);
  }
  write_finish(out, from.end ? &*from.end : nullptr, calls.has_called());
  if (options_.return_token_ids) {
    out.key("token_ids");
    write_ids(out, from.tokens);
  }
  if (!chat) write_prompt_parts(out, from);
  out.end_object();
}

void whole_answer::write_prompt_parts(json_writer& out, const choice& from) const {
  const bool is_computed = !from.tokens.empty() ||
                           (options_.prompt_alone && from.end && from.end->reason == finish_reason::length);
  if (options_.prompt_logprobs && is_computed) {
    out.key("prompt_logprobs");
    write_prompt_logprobs(out, from.prompt_logprobs, style_);
  }
  if (options_.return_token_ids) {
    out.key("prompt_token_ids");
    write_ids(out, from.prompt_tokens);
  }
}

}  // namespace troupe::openai
