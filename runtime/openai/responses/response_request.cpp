#include "runtime/openai/responses/response_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
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
  std::int32_t top_logprobs() const { return top_logprobs_; }
  bool wants_summary() const { return wants_summary_; }

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
    constexpr std::size_t most_warnings = 8, longest_name = 64;
    for (const auto& [name, value] : text->items())
      if (name != "format" && !value.is_null() && value != "medium" && name.size() <= longest_name &&
          warnings_.size() < most_warnings)
        warnings_.push_back(fmt::format("text.{} is not known here, and was ignored", name));
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
    const json summary = reasoning->value("summary", json());
    wants_summary_ = !summary.is_null();
    if (wants_summary_ && summary != "auto" && summary != "concise" && summary != "detailed")
      fields_.reject("reasoning", "reasoning.summary must be \"auto\", \"concise\" or \"detailed\"");
  }

  // Told only where they are included.
  void read_logprobs() {
    fields_.read("top_logprobs", top_logprobs_);
    const json* const include = fields_.find("include");
    if (include == nullptr) return;
    if (!include->is_array()) return fields_.reject("include", "include must be an array of strings");
    if (std::ranges::find(*include, "message.output_text.logprobs") == include->end()) return;
    made_.emplace_back("logprobs", true);
    made_.emplace_back("top_logprobs", top_logprobs_);
  }

  json& body_;
  field_reader fields_;
  std::vector<std::pair<std::string, json>> made_;  // members of the chat
  std::vector<std::string> warnings_;
  std::int32_t top_logprobs_ = 0;
  bool wants_summary_ = false;
};

// As OpenAI's types have them: functions and choices are no member of their own, and formats have a name.
json flat(json tool) {
  const auto function = tool.is_object() ? tool.find("function") : tool.end();
  if (!tool.is_object() || function == tool.end() || !function->is_object()) return tool;
  json made{{"type", "function"}};
  for (auto& [name, value] : function->items()) made[name] = std::move(value);
  return made;
}

json repeated_tools(const json& body) {
  json tools = json::array();
  if (const auto sent = body.find("tools"); sent != body.end() && sent->is_array())
    for (const json& tool : *sent) {
      tools.push_back(flat(tool));
      for (const char* name : {"parameters", "strict"})
        if (!tools.back().contains(name)) tools.back()[name] = nullptr;
    }
  return tools;
}

json repeated_choice(const json& body) {
  json choice = flat(body.value("tool_choice", json()));
  if (choice.is_null() || says_nothing(choice)) return "auto";
  if (choice.is_object() && choice.contains("allowed_tools")) {
    json allowed = choice["allowed_tools"];
    allowed["type"] = "allowed_tools";
    choice = std::move(allowed);
  }
  if (choice.is_object() && choice.contains("tools"))
    for (json& tool : choice["tools"]) tool = flat(std::move(tool));
  return choice;
}

json repeated_text(const json& body) {
  json text = body.value("text", json());
  if (!text.is_object()) text = json::object();
  json& format = text["format"];
  if (format.is_null()) format = {{"type", "text"}};
  if (format.is_object() && format.value("type", json()) == "json_schema" &&
      !format.value("name", json()).is_string())
    format["name"] = "response";
  return text;
}

// What an answer repeats of its request's texts.
std::string repeated_members(const json& body) {
  const auto as_sent = [&body](const char* name) { return body.value(name, json()); };
  const json asked = as_sent("reasoning");
  json reasoning{{"effort", nullptr}, {"summary", nullptr}};
  if (asked.is_object())
    for (auto& [name, value] : reasoning.items()) value = asked.value(name, json());
  json metadata = as_sent("metadata");
  if (metadata.is_null()) metadata = json::object();
  json parallel = as_sent("parallel_tool_calls");
  if (parallel.is_null()) parallel = true;
  const std::array<std::pair<std::string_view, json>, 8> members{
      {{"instructions", as_sent("instructions")},
       {"metadata", std::move(metadata)},
       {"parallel_tool_calls", std::move(parallel)},
       {"text", repeated_text(body)},
       {"tool_choice", repeated_choice(body)},
       {"tools", repeated_tools(body)},
       {"user", as_sent("user")},
       {"reasoning", std::move(reasoning)}}};
  std::string text;
  for (const auto& [name, value] : members) text += fmt::format(R"("{}":{},)", name, dump_exactly(value));
  return text;
}

// And of its numbers, as they are in force.
void repeat_numbers(const sampling_params& sampling, std::int32_t top_logprobs, std::string& into) {
  json_writer out(into);
  out.key("max_output_tokens");
  if (sampling.max_tokens) {
    out.integer(*sampling.max_tokens);
  } else {
    out.null();
  }
  out.key("top_logprobs").integer(top_logprobs);
  out.key("temperature").number(sampling.temperature).key("top_p").number(sampling.top_p);
}

// By the name that the field has in a body of /v1/responses.
std::string here(const std::string& field) {
  if (field.starts_with("response_format")) return "text";
  if (field == "reasoning_effort") return "reasoning";
  if (field == "messages") return "input";
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
  repeat_numbers(parsed->generation.sampling, reader.top_logprobs(), repeated);
  parsed->answer.kind = answer_kind::response;
  parsed->answer.reasoning_summary = reader.wants_summary();
  parsed->repeated = std::move(repeated);
  std::vector<std::string>& warnings = parsed->generation.warnings;
  warnings.insert(warnings.end(), reader.warnings().begin(), reader.warnings().end());
  return parsed;
}

}  // namespace troupe::openai
