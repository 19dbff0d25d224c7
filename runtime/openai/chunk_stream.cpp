#include "runtime/openai/chunk_stream.hpp"

#include <utility>

#include "runtime/openai/error_body.hpp"

namespace troupe::openai {

chunk_stream::chunk_stream(answer_identity identity, answer_options options, bool with_logprobs,
                           const token_namer& name)
    : options_(options),
      with_logprobs_(with_logprobs),
      style_{name, options.return_tokens_as_token_ids},
      head_("data: {"),
      choices_(static_cast<std::size_t>(options.n)),
      open_(choices_.size()) {
  const bool chat = options.kind == answer_kind::chat;
  json_writer out(head_);
  write_identity(out, identity, chat ? "chat.completion.chunk" : "text_completion");
}

void chunk_stream::append(std::size_t index, const stream_event& event, std::string& out) {
  if (ended_) return;
  choice& from = choices_[index];
  if (!event.prompt_tokens.empty())
    from.so_far.prompt_tokens = static_cast<std::int32_t>(event.prompt_tokens.size());
  from.so_far.cached_tokens += event.cached_tokens;
  const bool failed = event.end && event.end->failure;
  if (!from.started && options_.kind == answer_kind::chat && !failed) {
    stream_event opening;
    opening.prompt_tokens = event.prompt_tokens;
    opening.warnings = event.warnings;
    append_chunk(index, opening, nullptr, out);
  }
  from.so_far.completion_tokens += static_cast<std::int32_t>(event.tokens.size());
  if (event.end) from.so_far = event.end->tokens;
  if (shows(event) || (event.end && !failed))
    append_chunk(index, event, event.end && !failed ? &*event.end : nullptr, out);
  if (!event.end) return;
  ended_ = --open_ == 0 || failed;
  if (!ended_) return;
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

void chunk_stream::append_chunk(std::size_t index, const stream_event& event, const finished* end,
                                std::string& out) {
  choice& of = choices_[index];
  const bool first = !std::exchange(of.started, true);
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":";
  chunk.begin_array().begin_object().key("index").integer(static_cast<std::int64_t>(index));
  if (options_.kind == answer_kind::chat) {
    chunk.key("delta").begin_object();
    if (first) chunk.key("role").string("assistant");
    chunk.key("content").string(event.text).end_object();
  } else {
    chunk.key("text").string(event.text);
  }
  write_logprobs(chunk, of, event);
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
  if (first) write_warnings(chunk, event.warnings);
  if (options_.continuous_usage) {
    chunk.key("usage");
    write_usage(chunk, of.so_far);
  } else if (options_.include_usage) {
    chunk.key("usage").null();
  }
  chunk.end_object();
  out += "\n\n";
}

void chunk_stream::write_logprobs(json_writer& out, choice& of, const stream_event& event) {
  out.key("logprobs");
  if (!with_logprobs_ || event.logprobs.empty()) {
    out.null();
  } else if (options_.kind == answer_kind::chat) {
    write_chat_logprobs(out, event.logprobs, style_);
  } else {
    write_completion_logprobs(out, event.logprobs, style_, of.text_offset);
  }
}

void chunk_stream::append_usage(std::string& out) {
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":[]";
  usage all;
  for (const choice& each : choices_) add_choice(all, each.so_far);
  chunk.key("usage");
  write_usage(chunk, all);
  chunk.end_object();
  out += "\n\n";
}

}  // namespace troupe::openai
