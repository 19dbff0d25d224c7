#include "runtime/engine/tool_prompt.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/grammar/notations/tool_call_form.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/json/json.hpp"

namespace troupe {
namespace {

using form = grammar::tool_call_form;

std::string call(const std::string& name, const std::string& arguments) {
  const std::string quoted = json(name).dump();
  return fmt::format("{}{}{}{}{}", form::before_name, quoted.substr(1, quoted.size() - 2),
                     form::before_arguments, arguments, form::after_arguments);
}

std::string instructions(const json& tools) {
  std::string text =
      "You may call functions to help with what the user asks. Each line between <tools> and </tools> is one "
      "of them, with the JSON Schema of its arguments:\n<tools>\n";
  for (const json& tool : tools) text += dump_exactly(tool) + "\n";
  return text + "</tools>\nTo call a function, answer with its name and arguments in this form:\n" +
         call("NAME", "{...}") +
         "\nWhat it returns then stands between <tool_response> and </tool_response>.";
}

// In place, since there may be any number of texts.
void append(json& content, std::string_view text, const char* separator) {
  if (!content.is_string()) content = "";
  auto& joined = content.get_ref<std::string&>();
  if (!joined.empty()) joined += separator;
  joined += text;
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
    const json& arguments = function["arguments"];
    append(message["content"],
           call(function["name"].get<std::string>(),
                arguments.is_string() ? arguments.get<std::string>() : dump_exactly(arguments)),
           "\n");
  }
  message.erase("tool_calls");
}

}  // namespace

void write_out_tools(json& messages, const json& tools) {
  json written = json::array();
  bool follows_result = false;  // what users say belongs to it
  for (json& message : messages) {
    const json role = message["role"];
    const bool has_calls = message.contains("tool_calls") && !message["tool_calls"].is_null();
    if (role == "assistant" && has_calls) write_out_calls(message);
    if (role == "tool")
      message = {{"role", "user"},
                 {"content", fmt::format("<tool_response>\n{}\n</tool_response>",
                                         message["content"].get<std::string>())}};
    if (follows_result && message["role"] == "user")
      append(written.back()["content"], message["content"].get<std::string>(), "\n");
    else
      written.push_back(std::move(message));
    follows_result = role == "tool" || (follows_result && role == "user");
  }
  messages = std::move(written);
  if (!tools.is_null()) add_instructions(messages, tools);
}

bool tell_the_user_instead(json& messages) {
  if (messages.size() < 2 || messages[0]["role"] != "system" || messages[1]["role"] != "user") return false;
  json said = messages[0]["content"];
  append(said, messages[1]["content"].get<std::string>(), "\n\n");
  messages[1]["content"] = std::move(said);
  messages.erase(0);
  return true;
}

}  // namespace troupe
