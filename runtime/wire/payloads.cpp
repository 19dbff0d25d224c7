#include "runtime/wire/payloads.hpp"

#include <fmt/format.h>

#include "runtime/json/json_reader.hpp"
#include "runtime/openai/answer_parts.hpp"
#include "runtime/openai/error_body.hpp"
#include "runtime/openai/field_reader.hpp"

namespace troupe::wire {

result<hello> parse_hello(std::string_view payload) {
  const auto document = read_json(payload);
  if (!document) return tl::unexpected<error>(document.error());
  if (!document->is_object()) return fail(error_code::invalid_argument, "hello must be a JSON object");
  openai::field_reader fields(*document);
  const json* const version = fields.find("protocol");
  if (version == nullptr)
    return fail(error_code::invalid_argument, "hello must name its protocol version", "protocol");
  // To the letter, unlike the numbers of requests: 1.0 is none.
  const auto number = version->is_number_integer() ? openai::as_integer(*version) : std::nullopt;
  if (!number)
    return fail(error_code::invalid_argument,
                fmt::format("protocol must be the whole number {}", protocol_version), "protocol");
  if (*number != protocol_version)
    return fail(error_code::unsupported,
                fmt::format("protocol version {} is not spoken here: use {}", *number, protocol_version),
                "protocol");
  hello said;
  fields.read("api_key", said.api_key, payload.size());
  if (auto status = fields.status(); !status) return tl::unexpected<error>(status.error());
  return said;
}

std::string welcome_payload(const welcome& facts) {
  std::string payload;
  json_writer out(payload);
  out.begin_object().key("protocol").integer(protocol_version).key("server").string(facts.server);
  out.key("model").string(facts.model).key("max_model_len").integer(facts.max_model_len);
  out.key("max_frame_bytes").integer(static_cast<std::int64_t>(facts.max_frame_bytes));
  out.key("max_streams").integer(static_cast<std::int64_t>(facts.max_streams)).end_object();
  return payload;
}

std::string delta_payload(const stream_event& event, const delta_options& options) {
  std::string payload;
  json_writer out(payload);
  out.begin_object().key("text").string(event.text);
  if (options.with_reasoning && !event.reasoning.empty())
    out.key("reasoning_content").string(event.reasoning);
  out.key("token_ids");
  openai::write_ids(out, event.tokens);
  if (options.with_logprobs && !event.logprobs.empty()) {
    out.key("logprobs");
    openai::write_chat_logprobs(out, event.logprobs, options.style);
  }
  if (options.with_prompt && !event.prompt_tokens.empty()) {
    out.key("prompt_token_ids");
    openai::write_ids(out, event.prompt_tokens);
  }
  if (options.with_prompt_logprobs && !event.prompt_tokens.empty() && !event.tokens.empty()) {
    out.key("prompt_logprobs");
    openai::write_prompt_logprobs(out, event.prompt_logprobs, options.style);
  }
  openai::write_warnings(out, event.warnings);
  out.end_object();
  return payload;
}

std::string finished_payload(const finished& end) {
  std::string payload;
  json_writer out(payload);
  out.begin_object();
  out.key("finish_reason").string(to_string(end.reason));
  openai::write_stop_reason(out, end);
  out.key("usage");
  openai::write_usage(out, end.tokens);
  if (end.failure) {
    out.key("error");
    openai::write_error(out, *end.failure);
  }
  out.end_object();
  return payload;
}

std::string error_payload(const error& failure) { return openai::error_body(failure); }

}  // namespace troupe::wire
