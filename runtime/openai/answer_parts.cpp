#include "runtime/openai/answer_parts.hpp"

#include <fmt/format.h>

namespace troupe::openai {

void write_identity(json_writer& out, const answer_identity& identity, std::string_view object) {
  out.key("id").string(identity.id).key("object").string(object).key("created").integer(identity.created);
  out.key("model").string(identity.model);
}

void add_choice(usage& all, const usage& choice) {
  if (all.prompt_tokens == 0) {
    all.prompt_tokens = choice.prompt_tokens;
    all.cached_tokens = choice.cached_tokens;
  }
  all.completion_tokens += choice.completion_tokens;
  all.reasoning_tokens += choice.reasoning_tokens;
}

usage usage_of(std::span<const usage> answers, std::int32_t n) {
  usage all;
  for (std::size_t first = 0; first < answers.size(); first += static_cast<std::size_t>(n)) {
    usage of_prompt;
    for (const usage& each : answers.subspan(first, static_cast<std::size_t>(n))) add_choice(of_prompt, each);
    all.prompt_tokens += of_prompt.prompt_tokens;
    all.cached_tokens += of_prompt.cached_tokens;
    all.completion_tokens += of_prompt.completion_tokens;
    all.reasoning_tokens += of_prompt.reasoning_tokens;
  }
  return all;
}

void write_usage(json_writer& out, const usage& tokens) {
  out.begin_object().key("prompt_tokens").integer(tokens.prompt_tokens);
  out.key("completion_tokens").integer(tokens.completion_tokens);
  out.key("total_tokens").integer(std::int64_t{tokens.prompt_tokens} + tokens.completion_tokens);
  out.key("prompt_tokens_details").begin_object().key("cached_tokens").integer(tokens.cached_tokens);
  out.end_object();
  if (tokens.reasoning_tokens > 0) {
    out.key("completion_tokens_details").begin_object();
    out.key("reasoning_tokens").integer(tokens.reasoning_tokens).end_object();
  }
  out.end_object();
}

void write_finish(json_writer& out, const finished* end, bool calls) {
  out.key("finish_reason");
  if (end == nullptr) {
    out.null().key("stop_reason").null();
    return;
  }
  if (end->reason == finish_reason::timeout) {
    out.string(to_string(finish_reason::length)).key("stop_reason").string(to_string(end->reason));
    return;
  }
  const bool stopped_for_calls = calls && end->reason == finish_reason::stop;
  out.string(stopped_for_calls ? "tool_calls" : to_string(end->reason));
  write_stop_reason(out, *end);
}

void write_stop_reason(json_writer& out, const finished& end) {
  out.key("stop_reason");
  if (end.stop_string) {
    out.string(*end.stop_string);
  } else if (end.stop_token) {
    out.integer(*end.stop_token);
  } else {
    out.null();
  }
}

std::optional<error> failure_of(const finished& end) {
  if (end.failure || end.reason != finish_reason::abort) return end.failure;
  return error{error_code::unavailable, "the service is shutting down: the answer was cut off"};
}

std::string call_name(std::uint64_t call_id, std::size_t choice, std::size_t call) {
  return fmt::format("call_{:016x}{:02x}{:04x}", call_id, choice, call);
}

void write_call_id(json_writer& out, std::uint64_t call_id, std::size_t choice, std::size_t call) {
  out.key("id").string(call_name(call_id, choice, call)).key("type").string("function");
}

void write_warnings(json_writer& out, std::span<const std::string> warnings) {
  if (warnings.empty()) return;
  out.key("warnings").begin_array();
  for (const std::string& warning : warnings) out.string(warning);
  out.end_array();
}

void write_ids(json_writer& out, std::span<const token_id> ids) {
  out.begin_array();
  for (const token_id id : ids) out.integer(id);
  out.end_array();
}

}  // namespace troupe::openai
