#include "runtime/openai/responses/response_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/openai/exact_number.hpp"
#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/json_writer.hpp"
#include "runtime/openai/responses/input_items.hpp"

namespace troupe::openai {
namespace {

// Turns a body into that of a chat, in place.
class response_reader {
 public:
  explicit response_reader(json& body) : body_(body), fields_(body) {}

  result<void> make_chat() {
    refuse_what_needs_a_store();
    refuse_what_chats_have();
    read_metadata();
    read_text();
    read_reasoning();
    read_logprobs();
    read_input();
    if (auto status = fields_.status(); !status) return status;
    for (const std::string_view name :
         {"input", "instructions", "text", "reasoning", "include", "truncation", "background",
          "max_tool_calls", "previous_response_id", "conversation", "prompt", "top_logprobs"})
      body_.erase(std::string(name));
    for (auto& [name, value] : made_) body_[name] = std::move(value);
    return {};
  }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void refuse(std::string_view name, std::string_view why) {
    fields_.reject(name, fmt::format("{} is not supported: {}", name, why), error_code::unsupported);
  }

  void refuse_what_needs_a_store() {
    constexpr std::string_view stored = "nothing is stored between requests, send the earlier items in input";
    for (const std::string_view name : {"previous_response_id", "conversation", "prompt"})
      if (const json* const value = fields_.find(name); value != nullptr && !says_nothing(*value))
        refuse(name, stored);
    if (const json* const value = fields_.find("background"); value != nullptr && !says_nothing(*value))
      refuse("background", "nothing is stored, wait for the answer or stream it");
    if (const json* const value = fields_.find("truncation"); value != nullptr && *value != "disabled")
      refuse("truncation", "no item is left out, only \"disabled\" is served");
  }

  void refuse_what_chats_have() {
    for (const std::string_view name : {"messages", "logprobs", "response_format", "reasoning_effort",
                                        "return_token_ids", "return_tokens_as_token_ids", "prompt_logprobs"})
      if (const json* const value = fields_.find(name); value != nullptr && !says_nothing(*value))
        fields_.reject(name, fmt::format("{} is for /v1/chat/completions", name));
    if (const json* const n = fields_.find("n"); n != nullptr && *n != 1)
      fields_.reject("n", "there is one answer to a body of /v1/responses");
  }

  void read_input() {
    const json* const input = fields_.find("input");
    const json* const instructions = fields_.find("instructions");
    if (input == nullptr) return fields_.reject("input", "input is missing");
    if (instructions != nullptr && !instructions->is_string())
      return fields_.reject("instructions", "instructions must be a string");
    auto messages = messages_of_items(*input, instructions == nullptr ? json() : *instructions);
    if (!messages) return fields_.reject("input", messages.error().message);
    made_.emplace_back("messages", std::move(*messages));
  }

  // OpenAI's limits: it is repeated in the answer.
  void read_metadata() {
    constexpr std::size_t most = 16, longest_name = 64, longest_value = 512;
    const json* const metadata = fields_.find("metadata");
    if (metadata == nullptr) return;
    const bool is_known =
        metadata->is_object() && metadata->size() <= most &&
        std::ranges::all_of(metadata->items(), [](const auto& member) {
          return member.key().size() <= longest_name && member.value().is_string() &&
                 member.value().template get_ref<const std::string&>().size() <= longest_value;
        });
    if (!is_known)
      fields_.reject("metadata",
                     fmt::format("metadata must be an object of up to {} strings of up to {} bytes, whose "
                                 "names have up to {}",
                                 most, longest_value, longest_name));
  }

  // Nothing where it is absent; an object otherwise, or an error.
  const json* find_object(std::string_view name) {
    const json* const value = fields_.find(name);
    if (value == nullptr || value->is_object()) return value;
    fields_.reject(name, fmt::format("{} must be an object", name));
    return nullptr;
  }

  void read_text() {
    const json* const text = find_object("text");
    if (text == nullptr) return;
    for (const auto& [name, value] : text->items())
      if (name != "format" && !value.is_null() && value != "medium")
        warnings_.push_back(fmt::format("text.{} is not known here, and was ignored", name.substr(0, 64)));
    const json format = text->value("format", json());
    if (format.is_null()) return;
    if (!format.is_object()) return fields_.reject("text", "text.format must be an object");
    const json type = format.value("type", json());
    if (type != "json_schema") return made_.emplace_back("response_format", format), void();
    if (!format.contains("schema")) return fields_.reject("text", "text.format needs a \"schema\"");
    made_.emplace_back("response_format", json{{"type", type}, {"json_schema", format}});
  }

  void read_reasoning() {
    const json* const reasoning = find_object("reasoning");
    if (reasoning == nullptr) return;
    if (json effort = reasoning->value("effort", json()); !effort.is_null())
      made_.emplace_back("reasoning_effort", std::move(effort));
  }

  // Told only where they are included.
  void read_logprobs() {
    const json* const include = fields_.find("include");
    if (include == nullptr) return;
    if (!include->is_array()) return fields_.reject("include", "include must be an array of strings");
    if (std::ranges::find(*include, "message.output_text.logprobs") == include->end()) return;
    made_.emplace_back("logprobs", true);
    if (const json* const top = fields_.find("top_logprobs")) made_.emplace_back("top_logprobs", *top);
  }

  json& body_;
  field_reader fields_;
  std::vector<std::pair<std::string, json>> made_;  // members of the chat
  std::vector<std::string> warnings_;
};

// What an answer repeats of its request, but for numbers that have defaults.
std::string repeated_members(const json& body) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> members{
      {{"instructions", "null"},
       {"max_output_tokens", "null"},
       {"metadata", "{}"},
       {"parallel_tool_calls", "true"},
       {"text", R"({"format":{"type":"text"}})"},
       {"tool_choice", R"("auto")"},
       {"tools", "[]"},
       {"top_logprobs", "0"},
       {"user", "null"}}};
  std::string text;
  for (const auto& [name, absent] : members) {
    const auto member = body.find(name);
    const bool is_there = member != body.end() && !member->is_null();
    text += fmt::format(R"("{}":{},)", name, is_there ? dump_exactly(*member) : std::string(absent));
  }
  const json asked = body.value("reasoning", json());
  const json effort = asked.is_object() ? asked.value("effort", json()) : json();
  text += fmt::format(R"("reasoning":{{"effort":{},"summary":null}},)", effort.dump());
  return text;
}

// By the name that the field has in a body of /v1/responses.
std::string here(const std::string& field) {
  if (field.starts_with("response_format")) return "text";
  if (field == "reasoning_effort") return "reasoning";
  return field == "max_completion_tokens" ? "max_output_tokens" : field;
}

error renamed(error why) {
  why.param = here(why.param);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> names{
      {{"response_format.json_schema", "text.format"},
       {"response_format", "text.format"},
       {"reasoning_effort", "reasoning.effort"}}};
  for (const auto& [of_chats, of_responses] : names)
    if (const std::size_t at = why.message.find(of_chats); at != std::string::npos)
      why.message.replace(at, of_chats.size(), of_responses);
  return why;
}

}  // namespace

result<parsed_request> parse_response(json body, const request_context& context) {
  if (auto known = check_model(body, context.model); !known) return tl::unexpected<error>(known.error());
  std::string repeated = repeated_members(body);
  response_reader reader(body);
  if (auto made = reader.make_chat(); !made) return tl::unexpected<error>(made.error());
  auto parsed = parse_chat(body, context);
  if (!parsed) return tl::unexpected<error>(renamed(parsed.error()));
  std::get<chat_prompt>(parsed->generation.prompt).field = "input";
  const sampling_params& sampling = parsed->generation.sampling;
  json_writer(repeated).key("temperature").number(sampling.temperature).key("top_p").number(sampling.top_p);
  parsed->answer.kind = answer_kind::response;
  parsed->repeated = std::move(repeated);
  std::vector<std::string>& warnings = parsed->generation.warnings;
  warnings.insert(warnings.end(), reader.warnings().begin(), reader.warnings().end());
  return parsed;
}

}  // namespace troupe::openai
