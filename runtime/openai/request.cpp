#include "runtime/openai/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/grammar_fields.hpp"
#include "runtime/openai/messages.hpp"
#include "runtime/openai/models.hpp"
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
  if (options->empty()) return;
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

// Members that mean nothing here. Not those of OpenAI's API that do not change an answer.
std::vector<std::string> warnings_of(const field_reader& fields) {
  constexpr std::size_t most = 8, longest_name = 64;
  constexpr std::array<std::string_view, 9> harmless{
      "metadata",          "model", "prompt_cache_key", "prompt_cache_retention",
      "safety_identifier", "store", "service_tier",     "traceparent",
      "tracestate"};
  std::vector<std::string> warnings;
  for (const std::string_view name : fields.unread())
    if (warnings.size() < most && std::ranges::find(harmless, name) == harmless.end())
      warnings.push_back(fmt::format("{} is not known here, and was ignored", name.substr(0, longest_name)));
  return warnings;
}

result<parsed_request> checked(parsed_request parsed, const field_reader& fields,
                               const request_context& context) {
  if (auto status = fields.status(); !status) return tl::unexpected<error>(status.error());
  const sampling_limits limits{context.vocab_size, context.max_logprobs};
  if (auto valid = validate(parsed.generation.sampling, limits); !valid) {
    return tl::unexpected<error>(valid.error());
  }
  parsed.for_each_generation(
      [warnings = warnings_of(fields)](generation_request& each) { each.warnings = warnings; });
  return parsed;
}

void read_chat_logprobs(field_reader& fields, std::int32_t most, sampling_params& sampling) {
  bool wanted = false;
  fields.read("logprobs", wanted);
  std::int32_t top = 0;
  fields.read("top_logprobs", top);
  if (top > 0 && !wanted) {
    return fields.reject("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  if (top < 0 || top > most) {
    return fields.reject("top_logprobs",
                         fmt::format("top_logprobs must be between 0 and {}, got {}", most, top));
  }
  if (wanted) sampling.logprobs = top;
}

tl::unexpected<error> wrong_prompt(std::string message) {
  return fail(error_code::invalid_argument, std::move(message), "prompt");
}

result<request_prompt> read_prompt(const json& prompt, bool add_special_tokens, std::int32_t vocab_size) {
  if (prompt.empty() || (prompt.is_string() && prompt.get_ref<const std::string&>().empty())) {
    return wrong_prompt("prompt must not be empty");
  }
  if (prompt.is_string()) return text_prompt{prompt.get<std::string>(), add_special_tokens};
  if (!prompt.is_array()) return wrong_prompt("prompt must be a string or an array of token ids");
  auto ids = read_token_ids(prompt, vocab_size, "prompt");
  if (!ids) return tl::unexpected<error>(ids.error());
  return token_prompt{std::move(*ids)};
}

// One, or a list of them.
result<std::vector<request_prompt>> read_prompts(field_reader& fields, std::int32_t vocab_size) {
  const json* const prompt = fields.find("prompt");
  if (prompt == nullptr) return wrong_prompt("prompt is missing");
  bool add_special_tokens = text_prompt{}.add_special_tokens;
  fields.read("add_special_tokens", add_special_tokens);
  const bool is_list =
      prompt->is_array() && !prompt->empty() && (prompt->front().is_string() || prompt->front().is_array());
  if (is_list && prompt->size() > static_cast<std::size_t>(max_choices))
    return wrong_prompt(
        fmt::format("prompt holds {} prompts: at most {} in one request", prompt->size(), max_choices));
  std::vector<request_prompt> prompts;
  for (std::size_t i = 0; i < (is_list ? prompt->size() : 1); ++i) {
    auto each = read_prompt(is_list ? (*prompt)[i] : *prompt, add_special_tokens, vocab_size);
    if (!each && prompt->size() > 1 && is_list)
      each.error().message = fmt::format("prompt[{}]: {}", i, each.error().message);
    if (!each) return tl::unexpected<error>(each.error());
    prompts.push_back(std::move(*each));
  }
  return prompts;
}

// The same is wanted of each. Answers to equal prompts are to differ, where no seed was given, as those to
// one.
void spread_over(std::vector<request_prompt> prompts, parsed_request& parsed) {
  generation_request next = parsed.generation;
  parsed.generation.prompt = std::move(prompts.front());
  parsed.answer.prompts = static_cast<std::int32_t>(prompts.size());
  for (std::size_t i = 1; i < prompts.size(); ++i) {
    if (!next.sampling.is_seeded) next.sampling.seed += static_cast<std::uint64_t>(next.n);
    parsed.further.push_back(next);
    parsed.further.back().prompt = std::move(prompts[i]);
  }
}

// With `echo` the log-probabilities of the prompt's tokens are wanted as those of the answer's are; and an
// answer may have no tokens of its own, though one has to be computed.
void read_echo(field_reader& fields, parsed_request& parsed) {
  fields.read("echo", parsed.answer.echo);
  if (!parsed.answer.echo) return;
  sampling_params& sampling = parsed.generation.sampling;
  if (sampling.prompt_logprobs && sampling.prompt_logprobs != sampling.logprobs)
    fields.reject("prompt_logprobs", "with echo, prompt_logprobs must be what logprobs is, or left out");
  sampling.prompt_logprobs = sampling.logprobs;
  if (sampling.max_tokens != 0) return;
  parsed.answer.prompt_alone = true;
  sampling.max_tokens = 1;
}

}  // namespace

bool is_request_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  return !name.empty() && name.size() <= max_name_bytes && std::all_of(name.begin(), name.end(), allowed);
}

result<void> check_model(const json& body, const request_context& context) {
  if (!body.is_object()) return fail(error_code::invalid_argument, "the body must be a JSON object");
  field_reader fields(body);
  const json* const name = fields.find("model");
  if (name == nullptr) return {};
  if (!name->is_string()) return fail(error_code::invalid_argument, "model must be a string", "model");
  const std::string& wanted = name->get_ref<const std::string&>();
  if (wanted.empty() || is_name_of(wanted, {.id = context.model, .aliases = context.aliases})) return {};
  constexpr std::size_t longest_shown = 128;
  std::string served = fmt::format("\"{}\"", context.model);
  for (const std::string& alias : context.aliases) served += fmt::format(", \"{}\"", alias);
  return fail(
      error_code::not_found,
      fmt::format("the model \"{}\" does not exist; served: {}", wanted.substr(0, longest_shown), served),
      "model");
}

result<json> read_body(std::string_view text) {
  return read_json(text, {}, {.members = members_with_schemas});
}

result<parsed_request> parse_chat(const json& body, const request_context& context) {
  if (auto known = check_model(body, context); !known) return tl::unexpected<error>(known.error());
  field_reader fields(body);
  const json* const messages = fields.find("messages");
  if (messages == nullptr) return fail(error_code::invalid_argument, "messages is missing", "messages");
  auto conversation = read_messages(*messages);
  if (!conversation) return tl::unexpected<error>(conversation.error());
  parsed_request parsed = read_common(fields, answer_kind::chat, context);
  chat_prompt prompt{std::move(*conversation)};
  tool_use tools = read_tools(fields, parsed.generation.sampling.grammar);
  parsed.answer.tool_calls = tools.offers();
  fields.read("include_reasoning", parsed.answer.include_reasoning);
  parsed.generation.sampling.grammar = std::move(tools.grammar);
  prompt.tools = std::move(tools.offered);
  read_rendering(fields, prompt);
  parsed.generation.prompt = std::move(prompt);
  read_chat_logprobs(fields, context.max_logprobs, parsed.generation.sampling);
  bool echo = false;
  fields.read("echo", echo);
  if (echo) fields.reject("echo", "echo is not supported for chats");
  return checked(std::move(parsed), fields, context);
}

result<parsed_request> parse_completion(const json& body, const request_context& context) {
  if (auto known = check_model(body, context); !known) return tl::unexpected<error>(known.error());
  field_reader fields(body);
  auto prompts = read_prompts(fields, context.vocab_size);
  if (!prompts) return tl::unexpected<error>(prompts.error());
  parsed_request parsed = read_common(fields, answer_kind::completion, context);
  sampling_params& sampling = parsed.generation.sampling;
  fields.read("logprobs", sampling.logprobs);
  parsed.generation.max_tokens_is_default = !sampling.max_tokens;
  if (!sampling.max_tokens) sampling.max_tokens = default_completion_tokens;
  refuse_tools(fields);
  read_echo(fields, parsed);
  spread_over(std::move(*prompts), parsed);
  if (parsed.answer.choices() > max_choices)
    fields.reject("n", fmt::format("n is {} and there are {} prompts: at most {} answers to one request",
                                   parsed.answer.n, parsed.answer.prompts, max_choices));
  return checked(std::move(parsed), fields, context);
}

result<parsed_request> parse_generation(json body, const request_context& context) {
  const bool chat = body.is_object() && field_reader(body).has("messages");
  if (body.is_object())
    for (const char* name : {"stream", "stream_options"}) body.erase(name);
  return chat ? parse_chat(body, context) : parse_completion(body, context);
}

}  // namespace troupe::openai
