#include "runtime/engine/tool_prompt.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "runtime/grammar/tool_calls.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;
using form = grammar::tool_call_form;

std::string call(const std::string& name, const std::string& arguments) {
  return fmt::format("{}{}{}{}{}", form::before_name, name, form::before_arguments, arguments,
                     form::after_arguments);
}

std::string instructions(const json& tools) {
  std::string text =
      "You may call functions to help with what the user asks. Each line between <tools> and </tools> is one "
      "of them, with the JSON Schema of its arguments:\n<tools>\n";
  for (const json& tool : tools) text += tool.dump() + "\n";
  return text + "</tools>\nTo call a function, answer with its name and arguments in this form:\n" +
         call("NAME", "{...}") +
         "\nWhat it returns then stands between <tool_response> and </tool_response>.";
}

void append(json& content, const std::string& text, const char* separator) {
  std::string joined = content.is_string() ? content.get<std::string>() : std::string();
  if (!joined.empty()) joined += separator;
  content = joined + text;
}

void add_instructions(json& messages, const json& tools) {
  const std::string role = messages.front().value("role", "");
  if (role == "system" || role == "developer")
    return append(messages.front()["content"], instructions(tools), "\n\n");
  messages.insert(messages.begin(), json{{"role", "system"}, {"content", instructions(tools)}});
}

void write_out_calls(json& message) {
  for (const json& each : message["tool_calls"]) {
    const json& function = each["function"];
    append(message["content"], call(function["name"].get<std::string>(), function["arguments"].dump()), "\n");
  }
  message.erase("tool_calls");
}

}  // namespace

void write_out_tools(json& messages, const json& tools) {
  json written = json::array();
  bool after_result = false;
  for (json& message : messages) {
    const bool is_result = message["role"] == "tool";
    if (message.contains("tool_calls") && !message["tool_calls"].is_null()) write_out_calls(message);
    if (is_result) {
      const std::string result =
          fmt::format("<tool_response>\n{}\n</tool_response>", message["content"].get<std::string>());
      if (after_result)
        append(written.back()["content"], result, "\n");
      else
        written.push_back({{"role", "user"}, {"content", result}});
    } else {
      written.push_back(std::move(message));
    }
    after_result = is_result;
  }
  messages = std::move(written);
  if (!tools.is_null()) add_instructions(messages, tools);
}

}  // namespace troupe
