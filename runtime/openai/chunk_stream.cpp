#include "runtime/openai/chunk_stream.hpp"

#include <utility>

#include "runtime/openai/error_body.hpp"

namespace troupe::openai {

chunk_stream::chunk_stream(answer_identity identity, answer_options options, bool with_logprobs,
                           const token_namer& name)
    : options_(options),
      with_logprobs_(with_logprobs),
      style_{name, options.return_tokens_as_token_ids},
      head_("data: {") {
  const bool chat = options.kind == answer_kind::chat;
  json_writer out(head_);
  write_identity(out, identity, chat ? "chat.completion.chunk" : "text_completion");
}

void chunk_stream::append(const stream_event& event, std::string& out) {
  if (!event.prompt_tokens.empty())
    so_far_.prompt_tokens = static_cast<std::int32_t>(event.prompt_tokens.size());
  so_far_.completion_tokens += static_cast<std::int32_t>(event.tokens.size());
  if (event.end) so_far_ = event.end->tokens;
  const bool failed = event.end && event.end->failure;
  if (!started_ && options_.kind == answer_kind::chat && !failed) {
    stream_event opening;
    opening.prompt_tokens = event.prompt_tokens;
    append_chunk(opening, nullptr, out);
  }
  if (shows(event) || (event.end && !failed))
    append_chunk(event, event.end && !failed ? &*event.end : nullptr, out);
  if (!event.end) return;
  if (failed) {
    out += "data: " + error_body(*event.end->failure) + "\n\n";
  } else if (options_.include_usage) {
    append_usage(out);
  }
  out += "data: [DONE]\n\n";
}

bool chunk_stream::shows(const stream_event& event) const {
  const bool tokens_shown = options_.return_token_ids || with_logprobs_ || options_.continuous_usage;
  return !event.text.empty() || (tokens_shown && !event.tokens.empty());
}

void chunk_stream::append_chunk(const stream_event& event, const finished* end, std::string& out) {
  const bool first = !std::exchange(started_, true);
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":";
  chunk.begin_array().begin_object().key("index").integer(0);
  if (options_.kind == answer_kind::chat) {
    chunk.key("delta").begin_object();
    if (first) chunk.key("role").string("assistant");
    chunk.key("content").string(event.text).end_object();
  } else {
    chunk.key("text").string(event.text);
  }
  write_logprobs(chunk, event);
  write_finish(chunk, end);
  if (options_.return_token_ids) {
    if (first && options_.kind == answer_kind::completion) {
      chunk.key("prompt_token_ids");
      write_ids(chunk, event.prompt_tokens);
    }
    chunk.key("token_ids");
    write_ids(chunk, event.tokens);
  }
  chunk.end_object().end_array();
  if (options_.return_token_ids && first && options_.kind == answer_kind::chat) {
    chunk.key("prompt_token_ids");
    write_ids(chunk, event.prompt_tokens);
  }
  if (options_.continuous_usage) {
    chunk.key("usage");
    write_usage(chunk, so_far_);
  } else if (options_.include_usage) {
    chunk.key("usage").null();
  }
  chunk.end_object();
  out += "\n\n";
}

void chunk_stream::write_logprobs(json_writer& out, const stream_event& event) {
  out.key("logprobs");
  if (!with_logprobs_ || event.logprobs.empty()) {
    out.null();
  } else if (options_.kind == answer_kind::chat) {
    write_chat_logprobs(out, event.logprobs, style_);
  } else {
    write_completion_logprobs(out, event.logprobs, style_, text_offset_);
  }
}

void chunk_stream::append_usage(std::string& out) {
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":[]";
  chunk.key("usage");
  write_usage(chunk, so_far_);
  chunk.end_object();
  out += "\n\n";
}

}  // namespace troupe::openai
