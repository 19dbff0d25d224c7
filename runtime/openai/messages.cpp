#include "runtime/openai/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/chat_template/template_arguments.hpp"
#include "runtime/openai/content_parts.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t max_message_members = 64;
constexpr std::size_t max_effort_bytes = 64;
constexpr std::array<std::string_view, 5> roles{"system", "user", "assistant", "tool", "developer"};

bool is_role(std::string_view name) { return std::find(roles.begin(), roles.end(), name) != roles.end(); }

tl::unexpected<error> wrong(std::size_t index, std::string_view what) {
  return fail(error_code::invalid_argument, fmt::format("messages[{}]{}", index, what), "messages");
}

// A call's arguments as an object, which templates take, whether they came as one or, as OpenAI has it, as
// the text of one. Other texts, as of a call that was cut off, stay what they are.
result<json> read_arguments(const json& arguments, std::size_t index, std::size_t call) {
  if (arguments.is_null() || arguments == "") return json::object();
  if (arguments.is_object()) return arguments;
  if (!arguments.is_string())
    return wrong(index, fmt::format(".tool_calls[{}].function.arguments must be a string", call));
  auto read = read_json(arguments.get_ref<const std::string&>(), {}, {.everywhere = true});
  return read && read->is_object() ? std::move(*read) : arguments;
}

result<void> read_tool_calls(json& calls, std::size_t index) {
  if (!calls.is_array()) return wrong(index, ".tool_calls must be an array");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    json& call = calls[i];
    const auto function = call.is_object() ? call.find("function") : call.end();
    if (!call.is_object() || function == call.end() || !function->is_object())
      return wrong(index, fmt::format(".tool_calls[{}] must have a \"function\"", i));
    if (!function->value("name", json()).is_string())
      return wrong(index, fmt::format(".tool_calls[{}].function.name must be a string", i));
    auto arguments = read_arguments(function->value("arguments", json()), index, i);
    if (!arguments) return tl::unexpected<error>(arguments.error());
    (*function)["arguments"] = std::move(*arguments);
  }
  return {};
}

// What is null is not there for a template that asks what a message has, nor are calls that are none;
// vLLM's newer name for what was thought is the older one, which templates know.
json for_templates(const json& message) {
  json copy = json::object();
  auto& members = copy.get_ref<json::object_t&>();  // each name is there once: nobody looks for it
  for (const auto& [name, value] : message.get_ref<const json::object_t&>()) {
    const bool has_no_calls = name == "tool_calls" && value.is_array() && value.empty();
    if (name == "content" || (!value.is_null() && !has_no_calls)) members.emplace_back(name, value);
  }
  const auto reasoning = copy.find("reasoning");
  if (reasoning != copy.end() && reasoning->is_string() && !copy.contains("reasoning_content"))
    copy.emplace("reasoning_content", json(*reasoning));
  return copy;
}

result<json> read_message(const json& message, std::size_t index) {
  if (!message.is_object()) return wrong(index, " must be an object");
  if (message.size() > max_message_members) return wrong(index, " has too many members");
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string() || role->get_ref<const std::string&>().empty()) {
    return wrong(index, ".role must be a string");
  }
  if (!is_role(role->get_ref<const std::string&>()))
    return wrong(index, ".role must be system, user, assistant, tool or developer");
  json copy = for_templates(message);
  if (const auto calls = copy.find("tool_calls"); calls != copy.end())
    if (auto read = read_tool_calls(*calls, index); !read) return tl::unexpected<error>(read.error());
  const auto content = copy.find("content");
  if (content == copy.end() || content->is_null()) {
    if (*role != "assistant" && *role != "tool") return wrong(index, ".content is missing");
    copy["content"] = *role == "tool" ? json("") : json();
    return copy;
  }
  if (content->is_string()) return copy;
  if (!content->is_array()) return wrong(index, ".content must be a string or an array of parts");
  auto text = text_of_parts(*content, fmt::format("messages[{}].content", index));
  if (!text) return tl::unexpected<error>(text.error());
  *content = std::move(*text);
  return copy;
}

void read_template_arguments(field_reader& fields, chat_prompt& prompt) {
  const json* const arguments = fields.find("chat_template_kwargs");
  if (arguments == nullptr || says_nothing(*arguments)) return;
  if (const auto checked = check_template_arguments(*arguments); !checked)
    return fields.reject("chat_template_kwargs", checked.error().message);
  prompt.template_arguments = *arguments;
}

}  // namespace

result<json> read_messages(const json& messages) {
  if (!messages.is_array())
    return fail(error_code::invalid_argument, "messages must be an array", "messages");
  if (messages.empty()) return fail(error_code::invalid_argument, "messages must not be empty", "messages");
  json checked = json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto message = read_message(messages[i], i);
    if (!message) return tl::unexpected<error>(message.error());
    checked.push_back(std::move(*message));
  }
  return checked;
}

void read_rendering(field_reader& fields, chat_prompt& prompt) {
  fields.read("continue_final_message", prompt.continue_final_message);
  prompt.add_generation_prompt = !prompt.continue_final_message;
  fields.read("add_generation_prompt", prompt.add_generation_prompt);
  if (prompt.continue_final_message && prompt.add_generation_prompt)
    fields.reject("continue_final_message",
                  "continue_final_message and add_generation_prompt cannot both be true");
  fields.read("add_special_tokens", prompt.add_special_tokens);
  read_template_arguments(fields, prompt);
  if (!fields.has("reasoning_effort")) return;
  std::string effort;
  fields.read("reasoning_effort", effort, max_effort_bytes);
  // As vLLM: a variable of the template, unless the client says it there.
  if (fields.ok()) prompt.template_arguments.emplace("reasoning_effort", std::move(effort));
}

}  // namespace troupe::openai
