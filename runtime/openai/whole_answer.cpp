#include "runtime/openai/whole_answer.hpp"

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

void whole_answer::add(stream_event event) {
  text_ += event.text;
  append(tokens_, std::move(event.tokens));
  append(logprobs_, std::move(event.logprobs));
  append(prompt_tokens_, std::move(event.prompt_tokens));
  append(prompt_logprobs_, std::move(event.prompt_logprobs));
  if (event.end) end_ = std::move(event.end);
}

const error* whole_answer::failure() const { return end_ && end_->failure ? &*end_->failure : nullptr; }

std::string whole_answer::body(const answer_identity& identity, const answer_options& options,
                               bool with_logprobs, const token_namer& name) const {
  const bool chat = options.kind == answer_kind::chat;
  const token_style style{name, options.return_tokens_as_token_ids};
  std::string body;
  json_writer out(body);
  out.begin_object();
  write_identity(out, identity, chat ? "chat.completion" : "text_completion");
  out.key("choices").begin_array();
  write_choice(out, options, with_logprobs, style);
  out.end_array().key("usage");
  write_usage(out, end_ ? end_->tokens : usage{});
  if (chat) write_prompt_parts(out, options, style);
  out.end_object();
  return body;
}

void whole_answer::write_choice(json_writer& out, const answer_options& options, bool with_logprobs,
                                const token_style& style) const {
  const bool chat = options.kind == answer_kind::chat;
  out.begin_object().key("index").integer(0);
  if (chat) {
    out.key("message").begin_object().key("role").string("assistant").key("content").string(text_);
    out.key("refusal").null().end_object();
  } else {
    out.key("text").string(text_);
  }
  out.key("logprobs");
  std::int64_t text_offset = 0;
  if (!with_logprobs) {
    out.null();
  } else if (chat) {
    write_chat_logprobs(out, logprobs_, style);
  } else {
    write_completion_logprobs(out, logprobs_, style, text_offset);
  }
  write_finish(out, end_ ? &*end_ : nullptr);
  if (options.return_token_ids) {
    out.key("token_ids");
    write_ids(out, tokens_);
  }
  if (!chat) write_prompt_parts(out, options, style);
  out.end_object();
}

void whole_answer::write_prompt_parts(json_writer& out, const answer_options& options,
                                      const token_style& style) const {
  if (!prompt_logprobs_.empty()) {
    out.key("prompt_logprobs");
    write_prompt_logprobs(out, prompt_logprobs_, style);
  }
  if (options.return_token_ids) {
    out.key("prompt_token_ids");
    write_ids(out, prompt_tokens_);
  }
}

}  // namespace troupe::openai
