#include "runtime/openai/responses/response_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/exact_number.hpp"
#include "runtime/json/json_writer.hpp"
#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/responses/input_items.hpp"
#include "runtime/utf8.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t most_echoed_bytes = 1U << 20U;

// Functions and choices as OpenAI's types have them, no member of their own: `tool` is one that was read. The
// object is left open.
void write_flat(json_writer& out, const json& tool) {
  const auto nested = tool.find("function");
  const json& function = nested == tool.end() ? tool : *nested;
  out.begin_object().key("type").string("function");
  for (const auto& [name, value] : function.items())
    if (name != "type") out.key(name).raw(dump_exactly(value));
}

void write_tools(json_writer& out, const json& body) {
  out.begin_array();
  if (const auto sent = body.find("tools"); sent != body.end() && sent->is_array())
    for (const json& tool : *sent) {
      write_flat(out, tool);
      const json& function = tool.contains("function") ? tool["function"] : tool;
      for (const char* name : {"parameters", "strict"})
        if (!function.contains(name)) out.key(name).null();
      out.end_object();
    }
  out.end_array();
}

void write_choice(json_writer& out, const json& body) {
  const auto sent = body.find("tool_choice");
  if (sent == body.end() || !sent->is_object() || sent->empty()) {
    out.string(sent != body.end() && sent->is_string() && *sent != "" ? sent->get<std::string>() : "auto");
    return;
  }
  if (sent->value("type", json()) != "allowed_tools") {
    write_flat(out, *sent);
  } else {
    const auto nested = sent->find("allowed_tools");
    const json& allowed = nested == sent->end() ? *sent : *nested;
    out.begin_object().key("type").string("allowed_tools");
    out.key("mode").string(allowed.value("mode", "auto")).key("tools").begin_array();
    for (const json& tool : allowed["tools"]) {
      write_flat(out, tool);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

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
    if (const json* const most = fields_.find("max_output_tokens"))
      made_.emplace_back("max_completion_tokens", *most);
    if (auto status = fields_.status(); !status) return status;
    for (const std::string_view name :
         {"input", "instructions", "text", "reasoning", "include", "truncation", "background",
          "max_tool_calls", "max_output_tokens", "previous_response_id", "conversation", "prompt",
          "top_logprobs", "stream_options"})
      body_.erase(std::string(name));
    for (auto& [name, value] : made_) body_[name] = std::move(value);
    return {};
  }

  // What is told with the answer, and how.
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool wants_summary() const { return !summary_.is_null(); }
  // The members that an answer has of its request, once that was read as the chat that this has made of it.
  // Error: too_large.
  result<std::shared_ptr<const std::string>> echo(const sampling_params& sampling) const {
    std::string text;
    json_writer out(text);
    out.key("instructions").raw(instructions_.dump());
    out.key("text").begin_object().key("format").raw(format_.empty() ? R"({"type":"text"})" : format_);
    out.key("verbosity").string("medium").end_object();
    out.key("reasoning").begin_object().key("effort").raw(effort_.dump());
    out.key("summary").raw(summary_.dump()).end_object();
    out.key("tools");
    write_tools(out, body_);
    out.key("tool_choice");
    write_choice(out, body_);
    constexpr std::array<std::pair<const char*, const char*>, 3> as_sent{
        {{"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"user", "null"}}};
    for (const auto& [name, absent] : as_sent) {
      const auto sent = body_.find(name);
      out.key(name).raw(sent == body_.end() || sent->is_null() ? std::string(absent) : dump_exactly(*sent));
    }
    out.key("max_output_tokens");
    if (sampling.max_tokens) {
      out.integer(*sampling.max_tokens);
    } else {
      out.null();
    }
    out.key("top_logprobs").integer(top_logprobs_).key("temperature").number(sampling.temperature);
    out.key("top_p").number(sampling.top_p);
    if (text.size() <= most_echoed_bytes) return std::make_shared<const std::string>(std::move(text));
    return fail(
        error_code::too_large,
        fmt::format("instructions, tools, tool_choice and text, which answers bear too, have more than "
                    "{} bytes together",
                    most_echoed_bytes));
  }

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
    if (instructions != nullptr) instructions_ = *instructions;
    auto messages = messages_of_items(*input, instructions_);
    if (!messages) return fields_.reject("input", messages.error().message);
    made_.emplace_back("messages", std::move(*messages));
  }

  // OpenAI's limits, in characters: it is repeated in the answer.
  void read_metadata() {
    constexpr std::size_t most = 16;
    constexpr std::int64_t longest_name = 64, longest_value = 512;
    const json* const metadata = fields_.find("metadata");
    if (metadata == nullptr) return;
    const bool is_known =
        metadata->is_object() && metadata->size() <= most &&
        std::ranges::all_of(metadata->items(), [](const auto& member) {
          return utf8_length(member.key()) <= longest_name && member.value().is_string() &&
                 utf8_length(member.value().template get_ref<const std::string&>()) <= longest_value;
        });
    if (!is_known)
      fields_.reject(
          "metadata",
          fmt::format("metadata must be an object of up to {} strings of up to {} characters, whose "
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
      if (name != "format" && !value.is_null() && !(name == "verbosity" && value == "medium") &&
          name.size() <= longest_name && warnings_.size() < most_warnings)
        warnings_.push_back(fmt::format("text.{} is not known here, and was ignored", name));
    json format = text->value("format", json());
    if (format.is_null()) return;
    if (!format.is_object()) return fields_.reject("text", "text.format must be an object");
    const json type = format.value("type", json());
    const bool has_schema = type == "json_schema";
    if (has_schema && !format.contains("schema"))
      return fields_.reject("text", "text.format needs a \"schema\"");
    if (has_schema && !format.value("name", json()).is_string()) format["name"] = "response";
    format_ = dump_exactly(format);
    if (has_schema) format = {{"type", type}, {"json_schema", std::move(format)}};
    made_.emplace_back("response_format", std::move(format));
  }

  void read_reasoning() {
    const json* const reasoning = find_object("reasoning");
    if (reasoning == nullptr) return;
    effort_ = reasoning->value("effort", json());
    if (!effort_.is_null()) made_.emplace_back("reasoning_effort", effort_);
    summary_ = reasoning->value("summary", json());
    if (wants_summary() && summary_ != "auto" && summary_ != "concise" && summary_ != "detailed")
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
  // As they are to be echoed.
  json instructions_, effort_, summary_;
  std::string format_;
  std::int32_t top_logprobs_ = 0;
};

// By the name that the field has in a body of /v1/responses.
std::string here(const std::string& field) {
  if (field.starts_with("response_format")) return "text";
  if (field == "reasoning_effort") return "reasoning";
  if (field == "messages") return "input";
  return field == "max_completion_tokens" ? "max_output_tokens" : field;
}

error renamed(error why) {
  why.param = here(why.param);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names{
      {{"max_completion_tokens", "max_output_tokens"},
       {"response_format.json_schema", "text.format"},
       {"response_format", "text.format"},
       {"reasoning_effort", "reasoning.effort"}}};
  for (const auto& [of_chats, of_responses] : names)
    if (const std::size_t at = why.message.find(of_chats); at != std::string::npos)
      why.message.replace(at, of_chats.size(), of_responses);
  return why;
}

}  // namespace

result<parsed_request> parse_response(json body, const request_context& context) {
  if (auto known = check_model(body, context); !known) return tl::unexpected<error>(known.error());
  response_reader reader(body);
  if (auto made = reader.make_chat(); !made) return tl::unexpected<error>(made.error());
  auto parsed = parse_chat(body, context);
  if (!parsed) return tl::unexpected<error>(renamed(parsed.error()));
  std::get<chat_prompt>(parsed->generation.prompt).field = "input";
  parsed->generation.sampling.max_tokens_field = "max_output_tokens";
  auto echoed = reader.echo(parsed->generation.sampling);
  if (!echoed) return tl::unexpected<error>(echoed.error());
  parsed->echoed_members = std::move(*echoed);
  parsed->answer.kind = answer_kind::response;
  parsed->answer.reasoning_summary = reader.wants_summary();
  std::vector<std::string>& warnings = parsed->generation.warnings;
  warnings.insert(warnings.end(), reader.warnings().begin(), reader.warnings().end());
  return parsed;
}

}  // namespace troupe::openai
