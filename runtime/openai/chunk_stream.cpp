#include "runtime/openai/chunk_stream.hpp"

#include <optional>
#include <utility>

#include "runtime/openai/error_body.hpp"

namespace troupe::openai {

chunk_stream::chunk_stream(const answer_identity& identity, answer_options options, bool with_logprobs,
                           const token_namer& name)
    : call_id_(identity.call_id),
      options_(options),
      with_logprobs_(with_logprobs),
      style_{name, options.return_tokens_as_token_ids},
      head_("data: {"),
      choices_(static_cast<std::size_t>(options.choices())),
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
  if (!event.warnings.empty()) from.warnings = event.warnings;
  const std::optional<error> failure = event.end ? failure_of(*event.end) : std::nullopt;
  if (!from.started && options_.kind == answer_kind::chat && !failure) {
    stream_event opening;
    opening.prompt_tokens = event.prompt_tokens;
    append_chunk(index, {}, opening, nullptr, out);
  }
  from.so_far.completion_tokens += static_cast<std::int32_t>(event.tokens.size());
  if (event.end) from.so_far = event.end->tokens;
  append_event(index, event, event.end && !failure ? &*event.end : nullptr, out);
  if (!event.end) return;
  ended_ = --open_ == 0 || failure;
  if (!ended_) return;
  if (failure) {
    out += "data: " + error_body(*failure) + "\n\n";
  } else if (options_.include_usage) {
    append_usage(out);
  }
  out += "data: [DONE]\n\n";
}

bool chunk_stream::shows_tokens(const stream_event& event) const {
  const bool wanted = options_.return_token_ids || with_logprobs_ || options_.continuous_usage;
  return wanted && !event.tokens.empty();
}

void chunk_stream::append_event(std::size_t index, const stream_event& event, const finished* end,
                                std::string& out) {
  if (options_.kind == answer_kind::chat) return append_chat_event(index, event, end, out);
  if (!event.text.empty() || shows_tokens(event) || end != nullptr)
    append_chunk(index, {.text = event.text}, event, end, out);
}

// One call to a chunk: there are clients that look at the first of several alone.
void chunk_stream::append_chat_event(std::size_t index, const stream_event& event, const finished* end,
                                     std::string& out) {
  const std::vector<answer_part> parts =
      parts_of(event.text, end, options_.tool_calls, choices_[index].calls);
  std::vector<piece> pieces;
  if (options_.include_reasoning && !event.reasoning.empty())
    pieces.push_back({.reasoning = event.reasoning});
  for (const answer_part& part : parts)
    pieces.push_back({.text = part.text, .call = part.call ? &*part.call : nullptr});
  if (pieces.empty() && (shows_tokens(event) || end != nullptr)) pieces.emplace_back();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_last = i + 1 == pieces.size();
    append_chunk(index, pieces[i], is_last ? event : stream_event{}, is_last ? end : nullptr, out);
  }
}

void chunk_stream::append_chunk(std::size_t index, const piece& brings, const stream_event& event,
                                const finished* end, std::string& out) {
  choice& of = choices_[index];
  const bool first = !std::exchange(of.started, true);
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":";
  chunk.begin_array().begin_object().key("index").integer(static_cast<std::int64_t>(index));
  if (options_.kind == answer_kind::chat) {
    write_delta(chunk, index, brings, first);
  } else {
    chunk.key("text").string(brings.text);
  }
  write_logprobs(chunk, of, event);
  write_finish(chunk, end, of.calls.has_called());
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
  if (first) write_warnings(chunk, std::exchange(of.warnings, {}));
  if (options_.continuous_usage) {
    chunk.key("usage");
    write_usage(chunk, of.so_far);
  } else if (options_.include_usage) {
    chunk.key("usage").null();
  }
  chunk.end_object();
  out += "\n\n";
}

void chunk_stream::write_delta(json_writer& out, std::size_t index, const piece& brings, bool first) const {
  out.key("delta").begin_object();
  if (first) out.key("role").string("assistant");
  if (brings.call == nullptr) {
    // Where there may be calls, an answer without text has no content either, as a whole one.
    if (!brings.reasoning.empty()) {
      out.key("reasoning_content").string(brings.reasoning);
    } else if (!brings.text.empty() || !options_.tool_calls) {
      out.key("content").string(brings.text);
    }
    out.end_object();
    return;
  }
  const tool_call_part& call = *brings.call;
  out.key("tool_calls")
      .begin_array()
      .begin_object()
      .key("index")
      .integer(static_cast<std::int64_t>(call.index));
  if (!call.name.empty()) write_call_id(out, call_id_, index, call.index);
  out.key("function").begin_object();
  if (!call.name.empty()) out.key("name").string(call.name);
  out.key("arguments").string(call.arguments).end_object().end_object().end_array().end_object();
}

void chunk_stream::write_logprobs(json_writer& out, choice& of, const stream_event& event) {
  out.key("logprobs");
  if (!with_logprobs_ || event.logprobs.empty()) {
    out.null();
  } else if (options_.kind == answer_kind::chat) {
    write_chat_logprobs(out, event.logprobs, style_);
  } else {
    write_completion_logprobs(out, event.logprobs, style_, of.at);
  }
}

void chunk_stream::append_usage(std::string& out) {
  out += head_;
  json_writer chunk(out);
  out += ",\"choices\":[]";
  std::vector<usage> each;
  for (const choice& from : choices_) each.push_back(from.so_far);
  chunk.key("usage");
  write_usage(chunk, usage_of(each, options_.n));
  chunk.end_object();
  out += "\n\n";
}

}  // namespace troupe::openai
