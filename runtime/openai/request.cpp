#include "runtime/openai/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/grammar_fields.hpp"
#include "runtime/openai/messages.hpp"
#include "runtime/openai/sampling_fields.hpp"
#include "runtime/openai/tools.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t max_salt_bytes = 1024;
constexpr std::size_t max_name_bytes = 128;
constexpr float max_timeout_seconds = 604'800.0F;       // a week, as --request-timeout
constexpr std::int32_t default_completion_tokens = 16;  // OpenAI's, for /v1/completions

void read_answer_options(field_reader& fields, answer_options& answer) {
  fields.read("stream", answer.stream);
  fields.read("return_token_ids", answer.return_token_ids);
  fields.read("return_tokens_as_token_ids", answer.return_tokens_as_token_ids);
  const json* const options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields.reject("stream_options", "stream_options must be an object");
  if (!answer.stream) return fields.reject("stream_options", "stream_options needs stream to be true");
  field_reader inner(*options);
  inner.read("include_usage", answer.include_usage);
  inner.read("continuous_usage_stats", answer.continuous_usage);
  if (!inner.ok()) fields.reject("stream_options", inner.status().error().message);
}

// `timeout` in seconds, as LiteLLM's proxy has it.
void read_timeout(field_reader& fields, generation_request& generation) {
  if (!fields.has("timeout")) return;
  float seconds = 0.0F;
  fields.read("timeout", seconds);
  if (!fields.ok()) return;
  if (!(seconds > 0.0F && seconds <= max_timeout_seconds))
    return fields.reject("timeout",
                         fmt::format("timeout must be greater than 0 and at most {} seconds, got {}",
                                     max_timeout_seconds, seconds));
  // At least a tick: none at all would stand for no timeout.
  generation.timeout = std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

// vLLM's `n`, `best_of`, `priority`, `cache_salt` and `request_id`.
void read_scheduling(field_reader& fields, parsed_request& parsed) {
  std::int32_t& n = parsed.generation.n;
  fields.read("n", n);
  if (n < 1 || n > max_choices)
    return fields.reject("n", fmt::format("n must be between 1 and {}, got {}", max_choices, n));
  parsed.answer.n = n;
  std::int32_t best_of = n;
  fields.read("best_of", best_of);
  if (best_of != n) fields.reject("best_of", "best_of other than n is not supported");
  fields.read("priority", parsed.generation.priority);
  fields.read("cache_salt", parsed.generation.cache_salt, max_salt_bytes);
  if (fields.has("cache_salt") && parsed.generation.cache_salt.empty())
    fields.reject("cache_salt", "cache_salt must not be empty");
  fields.read("request_id", parsed.request_id, max_name_bytes);
  if (fields.has("request_id") && !is_request_name(parsed.request_id))
    fields.reject("request_id", "request_id must be made of letters, digits, '-', '_', '.' and ':'");
}

// Everything but the prompt and the form of log-probabilities.
parsed_request read_common(field_reader& fields, answer_kind kind, const request_context& context) {
  parsed_request parsed;
  parsed.answer.kind = kind;
  refuse_unsupported(fields);
  parsed.generation.sampling = read_sampling(fields, context);
  fields.read("user", parsed.generation.user, max_user_bytes);
  read_timeout(fields, parsed.generation);
  read_scheduling(fields, parsed);
  read_answer_options(fields, parsed.answer);
  parsed.answer.prompt_logprobs = parsed.generation.sampling.prompt_logprobs.has_value();
  if (parsed.answer.stream && parsed.answer.prompt_logprobs) {
    fields.reject("prompt_logprobs", "prompt_logprobs cannot be streamed: leave out stream");
  }
  return parsed;
}

result<parsed_request> checked(parsed_request parsed, const field_reader& fields,
                               const request_context& context) {
  if (auto status = fields.status(); !status) return tl::unexpected<error>(status.error());
  const sampling_limits limits{context.vocab_size, context.max_logprobs};
  if (auto valid = validate(parsed.generation.sampling, limits); !valid) {
    return tl::unexpected<error>(valid.error());
  }
  return parsed;
}

void read_chat_logprobs(field_reader& fields, std::int32_t most, sampling_params& sampling) {
  bool wanted = false;
  fields.read("logprobs", wanted);
  std::int32_t top = 0;
  fields.read("top_logprobs", top);
  if (fields.has("top_logprobs") && !wanted) {
    return fields.reject("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  if (top < 0 || top > most) {
    return fields.reject("top_logprobs",
                         fmt::format("top_logprobs must be between 0 and {}, got {}", most, top));
  }
  if (wanted) sampling.logprobs = top;
}

result<std::variant<chat_prompt, text_prompt, token_prompt>> read_prompt(field_reader& fields,
                                                                         std::int32_t vocab_size) {
  const json* prompt = fields.find("prompt");
  const auto wrong = [](const char* message) {
    return fail(error_code::invalid_argument, message, "prompt");
  };
  if (prompt == nullptr) return wrong("prompt is missing");
  const bool list_of_prompts =
      prompt->is_array() && !prompt->empty() && (prompt->front().is_string() || prompt->front().is_array());
  if (list_of_prompts) {
    if (prompt->size() > 1) return wrong("one prompt per request: prompt holds several");
    prompt = &prompt->front();
  }
  if (prompt->empty() || (prompt->is_string() && prompt->get_ref<const std::string&>().empty())) {
    return wrong("prompt must not be empty");
  }
  if (prompt->is_string()) {
    text_prompt text{prompt->get<std::string>()};
    fields.read("add_special_tokens", text.add_special_tokens);
    return text;
  }
  if (!prompt->is_array()) return wrong("prompt must be a string or an array of token ids");
  auto ids = read_token_ids(*prompt, vocab_size, "prompt");
  if (!ids) return tl::unexpected<error>(ids.error());
  return token_prompt{std::move(*ids)};
}

// What an answer would be given together with, in front of it or behind.
void refuse_text_around(field_reader& fields) {
  for (const char* name : {"echo", "suffix"}) {
    const json* const value = fields.find(name);
    if (value == nullptr || *value == false || *value == "") continue;
    fields.reject(name, fmt::format("{} is not supported yet", name));
  }
}

}  // namespace

bool is_request_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  return !name.empty() && name.size() <= max_name_bytes && std::all_of(name.begin(), name.end(), allowed);
}

result<void> check_model(const json& body, std::string_view model) {
  if (!body.is_object()) return fail(error_code::invalid_argument, "the body must be a JSON object");
  field_reader fields(body);
  const json* const name = fields.find("model");
  if (name == nullptr) return {};
  if (!name->is_string()) return fail(error_code::invalid_argument, "model must be a string", "model");
  if (name->get_ref<const std::string&>() == model) return {};
  constexpr std::size_t longest_shown = 128;
  return fail(error_code::not_found,
              fmt::format("the model \"{}\" does not exist: \"{}\" does",
                          name->get_ref<const std::string&>().substr(0, longest_shown), model),
              "model");
}

result<json> read_body(std::string_view text) {
  return read_json(text, {}, {.members = members_with_schemas});
}

result<parsed_request> parse_chat(const json& body, const request_context& context) {
  if (auto known = check_model(body, context.model); !known) return tl::unexpected<error>(known.error());
  field_reader fields(body);
  const json* const messages = fields.find("messages");
  if (messages == nullptr) return fail(error_code::invalid_argument, "messages is missing", "messages");
  auto conversation = read_messages(*messages);
  if (!conversation) return tl::unexpected<error>(conversation.error());
  parsed_request parsed = read_common(fields, answer_kind::chat, context);
  chat_prompt prompt{std::move(*conversation)};
  tool_use tools = read_tools(fields, parsed.generation.sampling.grammar);
  parsed.answer.tool_calls = tools.offers();
  parsed.generation.sampling.grammar = std::move(tools.grammar);
  prompt.tools = std::move(tools.offered);
  fields.read("add_generation_prompt", prompt.add_generation_prompt);
  fields.read("add_special_tokens", prompt.add_special_tokens);
  parsed.generation.prompt = std::move(prompt);
  read_chat_logprobs(fields, context.max_logprobs, parsed.generation.sampling);
  refuse_text_around(fields);
  return checked(std::move(parsed), fields, context);
}

result<parsed_request> parse_completion(const json& body, const request_context& context) {
  if (auto known = check_model(body, context.model); !known) return tl::unexpected<error>(known.error());
  field_reader fields(body);
  auto prompt = read_prompt(fields, context.vocab_size);
  if (!prompt) return tl::unexpected<error>(prompt.error());
  parsed_request parsed = read_common(fields, answer_kind::completion, context);
  parsed.generation.prompt = std::move(*prompt);
  sampling_params& sampling = parsed.generation.sampling;
  fields.read("logprobs", sampling.logprobs);
  if (!sampling.max_tokens) sampling.max_tokens = default_completion_tokens;
  refuse_tools(fields);
  refuse_text_around(fields);
  return checked(std::move(parsed), fields, context);
}

result<parsed_request> parse_generation(const json& body, const request_context& context) {
  const bool chat = body.is_object() && field_reader(body).has("messages");
  return chat ? parse_chat(body, context) : parse_completion(body, context);
}

}  // namespace troupe::openai
