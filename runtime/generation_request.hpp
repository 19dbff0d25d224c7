// What a client asks for: a prompt and how to sample from it, before anything is tokenized.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/json/json.hpp"
#include "runtime/request.hpp"

namespace troupe {

struct chat_prompt {
  json messages = {};  // an array of {"role", "content", ...}
  bool add_generation_prompt = true;
  bool add_special_tokens =
      false;             // true: the tokenizer's own begin-of-text too, beside what the template wrote
  json tools = nullptr;  // an array of {"type": "function", "function": ...}; null: none
  json template_arguments = nullptr;  // chat_template/template_arguments.hpp; null: none
  // The answer goes on with the last message, whose end is left out.
  bool continue_final_message = false;
  std::string_view field = "messages";  // as the client knows them, for errors; of a string that lasts
};
struct text_prompt {
  std::string text = {};
  bool add_special_tokens = true;
};
struct token_prompt {
  std::vector<token_id> ids = {};
};

using request_prompt = std::variant<chat_prompt, text_prompt, token_prompt>;

// Answers to one request at most, as OpenAI's API has it.
inline constexpr std::int32_t max_choices = 128;

struct generation_request {
  request_prompt prompt = {};
  sampling_params sampling;
  // Nobody has asked for sampling.max_tokens: where the context holds fewer, it is as if they were not set.
  bool max_tokens_is_default = false;
  std::string user = {};                // the tenant, as the client names it
  std::string cache_salt = {};          // requests of another salt share no cached prefix with it
  std::int32_t priority = 0;            // lower goes first, where the policy looks at it
  std::int32_t n = 1;                   // answers wanted; the one at index i is sampled with seed + i
  std::chrono::nanoseconds timeout{0};  // from arrival; 0: as long as the service lets it
  // The first answer to another prompt of the same client's request: the queue takes in, refuses and gives up
  // both together.
  std::optional<request_id> joins = {};
  // What its client is to know of it, though it is served: told with the answer.
  std::vector<std::string> warnings = {};
};
// So much of its time was over before it was read.
inline void shorten_timeout(generation_request& request, std::chrono::nanoseconds passed) {
  constexpr std::chrono::nanoseconds least{1};
  if (request.timeout.count() > 0) request.timeout = std::max(request.timeout - passed, least);
}
using generation_request_ptr = std::shared_ptr<const generation_request>;

}  // namespace troupe
