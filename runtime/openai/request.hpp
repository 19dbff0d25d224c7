// Bodies of /v1/chat/completions and /v1/completions (and responses/response_request.hpp) as plain values:
// what to generate and how to answer.
// Field names and meanings: OpenAI's API reference; extensions: vLLM's OpenAI-compatible server.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// What a body is checked against.
struct request_context {
  std::string_view model;  // its first name
  std::int32_t vocab_size = 0;
  std::int32_t max_logprobs = 20;
  std::uint64_t default_seed = 0;             // used where the client gives no seed
  std::span<const std::string> aliases = {};  // the model's other names
};

enum class answer_kind { chat, completion, response };

inline constexpr std::size_t max_user_bytes = 1024;  // of a tenant's name

// How the client wants its answer.
struct answer_options {
  answer_kind kind = answer_kind::chat;
  std::int32_t n = 1;        // choices of each prompt
  std::int32_t prompts = 1;  // whose choices come one behind the other
  bool stream = false;
  bool include_usage = false;      // a last chunk that tells the usage
  bool continuous_usage = false;   // and the usage so far on every chunk
  bool prompt_logprobs = false;    // log-probabilities of the prompt's tokens are asked for
  bool tool_calls = false;         // tools are offered: calls are told apart from the text
  bool include_reasoning = true;   // what the model thinks first is told
  bool reasoning_summary = false;  // as its own summary, of a response: most clients show no other
  bool return_token_ids = false;
  bool return_tokens_as_token_ids = false;  // "token_id:42" in place of a token's text in log-probabilities
  bool echo = false;                        // answers begin with their prompts
  bool prompt_alone = false;                // and end there: no tokens are wanted (with `echo`)

  std::int32_t choices() const { return prompts * n; }
};

struct parsed_request {
  generation_request generation;                 // of the first prompt, in most cases the only one
  std::vector<generation_request> further = {};  // of the others, alike but for their seeds
  answer_options answer;
  // Of a response: members of the request that its answer bears too, as JSON text.
  std::shared_ptr<const std::string> echoed_members = {};
  std::string request_id = {};  // the client's own name for the request; empty: it has none

  void for_each_generation(const std::invocable<generation_request&> auto& change) {
    change(generation);
    for (generation_request& each : further) change(each);
  }
};

// A name of 1 to 128 letters, digits, '-', '_', '.' and ':'.
bool is_request_name(std::string_view name);

// The document of a POST. Errors: those of read_json.
result<json> read_body(std::string_view text);

// `body` is such a document. Errors: invalid_argument naming the field; not_found for another model's
// name; fields of the APIs that would change the answer and are not served are refused, unknown ones ignored.
result<parsed_request> parse_chat(const json& body, const request_context& context);
result<parsed_request> parse_completion(const json& body, const request_context& context);
// For a protocol whose answers all come in pieces, where "stream" and "stream_options" say nothing. By its
// members: "messages" makes it a chat.
result<parsed_request> parse_generation(json body, const request_context& context);

// Errors unless `body` is an object whose "model" is absent, empty or served. Shared by every body that names
// a model.
result<void> check_model(const json& body, const request_context& context);

}  // namespace troupe::openai
