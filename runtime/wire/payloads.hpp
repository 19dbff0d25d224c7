// What stands in the frames of the TCP protocol (docs/protocol.md).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/openai/logprobs.hpp"
#include "runtime/result.hpp"
#include "runtime/stream.hpp"

namespace troupe::wire {

inline constexpr std::int64_t protocol_version = 1;

// What a client says first: {"protocol": 1, "api_key": "..."}.
struct hello {
  std::string api_key = {};  // empty: it has none
};
// Errors: invalid_argument; unsupported for another version.
result<hello> parse_hello(std::string_view payload);

struct welcome {
  std::string_view server;  // version of the program
  std::string_view model;
  std::int32_t max_model_len = 0;
  std::uint64_t max_frame_bytes = 0;
  std::uint64_t max_streams = 0;
};
std::string welcome_payload(const welcome& facts);

// What a client wants to see of each token.
struct delta_options {
  bool with_logprobs = false;
  bool with_prompt = false;           // prompt_token_ids on the first delta
  bool with_prompt_logprobs = false;  // the same
  openai::token_style style;
  bool with_reasoning = true;
};
// {"text", "reasoning_content", "token_ids", "logprobs", "prompt_token_ids", "prompt_logprobs", "warnings"};
// all but the text and the ids where asked for or where there are any.
std::string delta_payload(const stream_event& event, const delta_options& options);
// {"finish_reason", "stop_reason", "usage", "error"}; the last where the request failed.
std::string finished_payload(const finished& end);
// {"error": {"message", "type", "param", "code"}}
std::string error_payload(const error& failure);

}  // namespace troupe::wire
