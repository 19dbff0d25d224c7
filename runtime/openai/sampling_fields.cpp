#include "runtime/openai/sampling_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/openai/grammar_fields.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t max_stop_strings = 16;
constexpr std::size_t max_stop_bytes = 4096;
constexpr std::size_t max_stop_token_ids = 4096;
constexpr std::size_t max_logit_biases = 4096;

void read_stop(field_reader& fields, std::vector<std::string>& stop) {
  const json* const value = fields.find("stop");
  if (value == nullptr) return;
  const auto add = [&](const json& text) {
    if (!text.is_string()) return fields.reject("stop", "stop must be a string or an array of strings");
    const auto& bytes = text.get_ref<const std::string&>();
    if (bytes.empty()) return fields.reject("stop", "a stop string must not be empty");
    if (bytes.size() > max_stop_bytes) {
      return fields.reject("stop", fmt::format("a stop string is longer than {} bytes", max_stop_bytes));
    }
    stop.push_back(bytes);
  };
  if (!value->is_array()) return add(*value);
  if (value->size() > max_stop_strings) {
    return fields.reject("stop", fmt::format("at most {} stop strings are served", max_stop_strings));
  }
  for (const json& text : *value) add(text);
}

void read_logit_bias(field_reader& fields, std::int32_t vocab_size,
                     std::vector<std::pair<token_id, float>>& bias) {
  const json* const value = fields.find("logit_bias");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields.reject("logit_bias", "logit_bias must be an object of token ids and numbers");
  }
  if (value->size() > max_logit_biases) {
    return fields.reject("logit_bias", fmt::format("logit_bias has at most {} tokens", max_logit_biases));
  }
  bias.reserve(value->size());
  for (const auto& [name, amount] : value->items()) {
    token_id id = -1;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (code != std::errc{} || end != name.data() + name.size() || id < 0 || id >= vocab_size) {
      return fields.reject("logit_bias", "a key of logit_bias is not a token id of the vocabulary");
    }
    if (!amount.is_number()) return fields.reject("logit_bias", "a value of logit_bias is not a number");
    const auto number = amount.get<double>();
    if (!(number >= -100.0 && number <= 100.0)) {
      return fields.reject("logit_bias", "a value of logit_bias is outside -100 to 100");
    }
    bias.emplace_back(id, static_cast<float>(number));
  }
  // Once, where a device that takes them so would sort them in every step.
  std::ranges::stable_sort(bias, {}, &std::pair<token_id, float>::first);
}

// What is empty, and what says that all is to be as it is anyway.
bool asks_for_nothing(std::string_view name, const json& value) {
  if (says_nothing(value)) return true;
  if (name == "function_call") return value == "none";
  return name == "modalities" && value == json::array({"text"});
}

void refuse(field_reader& fields, std::string_view name) {
  fields.reject(name, fmt::format("{} is not supported yet", name));
}

}  // namespace

sampling_params read_sampling(field_reader& fields, const request_context& context) {
  sampling_params sampling;
  fields.read("max_tokens", sampling.max_tokens);
  if (fields.has("max_completion_tokens")) {
    sampling.max_tokens_field = "max_completion_tokens";
    fields.read(sampling.max_tokens_field, sampling.max_tokens);
  }
  fields.read("min_tokens", sampling.min_tokens);
  fields.read("temperature", sampling.temperature);
  fields.read("top_p", sampling.top_p);
  fields.read("top_k", sampling.top_k);
  if (sampling.top_k == -1) sampling.top_k = 0;
  fields.read("min_p", sampling.min_p);
  fields.read("presence_penalty", sampling.presence_penalty);
  fields.read("frequency_penalty", sampling.frequency_penalty);
  fields.read("repetition_penalty", sampling.repetition_penalty);
  sampling.seed = context.default_seed;
  sampling.is_seeded = fields.has("seed");
  if (sampling.is_seeded) {
    std::int64_t seed = 0;
    fields.read("seed", seed);
    sampling.seed = static_cast<std::uint64_t>(seed);
  }
  read_stop(fields, sampling.stop);
  fields.read("stop_token_ids", sampling.stop_token_ids, max_stop_token_ids);
  fields.read("include_stop_str_in_output", sampling.include_stop_str_in_output);
  fields.read("ignore_eos", sampling.ignore_eos);
  fields.read("skip_special_tokens", sampling.skip_special_tokens);
  fields.read("prompt_logprobs", sampling.prompt_logprobs);
  fields.read("num_speculative_tokens", sampling.num_speculative_tokens);
  read_logit_bias(fields, context.vocab_size, sampling.logit_bias);
  sampling.grammar = read_grammar(fields);
  return sampling;
}

void refuse_unsupported(field_reader& fields) {
  for (const char* name : {"functions", "function_call", "use_beam_search", "allowed_token_ids", "bad_words",
                           "truncate_prompt_tokens", "prompt_embeds", "logits_processors", "chat_template",
                           "audio", "modalities", "suffix"}) {
    const json* const value = fields.find(name);
    if (value != nullptr && !asks_for_nothing(name, *value)) refuse(fields, name);
  }
}

}  // namespace troupe::openai
