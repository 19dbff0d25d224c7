#include "runtime/chat_template/template_traits.hpp"

#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/json/json.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe {
namespace {

// Texts that no template writes by itself.
constexpr const char* first_text = "the-first-that-is-said";
constexpr const char* second_text = "the-second-that-is-said";
constexpr const char* called_tool = "a_tool_that_was_called";
constexpr const char* other_tool = "a_tool_that_is_offered";
// Nine letters and digits, which Mistral's templates want.
constexpr const char* call_id = "call00001";

json message(std::string_view role, std::string_view text) { return {{"role", role}, {"content", text}}; }

json tool(std::string_view name) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", "Looks something up"},
            {"parameters", {{"type", "object"}, {"properties", {{"of", {{"type", "string"}}}}}}}}}};
}

json arguments_of_call() { return {{"of", first_text}}; }

// What the template makes of it, nothing where it refuses. The day is any, for templates that tell one.
std::string write(const chat_template& chat, json messages, json tools = nullptr) {
  json context;
  context["messages"] = std::move(messages);
  context["tools"] = std::move(tools);
  context["documents"] = nullptr;
  context["add_generation_prompt"] = true;
  context["bos_token"] = "";
  context["eos_token"] = "";
  std::tm day{};
  day.tm_year = 125;
  day.tm_mday = 1;
  day.tm_wday = 3;
  return chat.render(context, day).value_or("");
}

bool has_all(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (text.find(part) == std::string_view::npos) return false;
  return true;
}

// In this order, which grammars hold calls to (runtime/grammar/notations/tool_call_form.hpp): objects of
// other orders are not equal.
bool is_the_call(std::string_view line) {
  const auto read = read_json(line);
  return read && *read == json{{"name", called_tool}, {"arguments", arguments_of_call()}};
}

bool has_the_call(std::string_view text) {
  constexpr std::string_view opening = "<tool_call>\n", closing = "\n</tool_call>";
  // Up to the next one at most, so that a text of many is looked through once.
  for (std::size_t at = text.find(opening); at != std::string_view::npos;) {
    at += opening.size();
    const std::size_t next = text.find(opening, at);
    const std::string_view call = text.substr(at, next == std::string_view::npos ? next : next - at);
    if (const std::size_t end = call.find(closing);
        end != std::string_view::npos && is_the_call(call.substr(0, end)))
      return true;
    at = next;
  }
  return false;
}

bool writes_tool_calls(const chat_template& chat) {
  if (!has_all(chat.source(), {"tools", "<tool_call>"})) return false;
  json called = message("assistant", "");
  called["tool_calls"] =
      json::array({{{"id", call_id},
                    {"type", "function"},
                    {"function", {{"name", called_tool}, {"arguments", arguments_of_call()}}}}});
  json found = message("tool", second_text);
  found["tool_call_id"] = call_id;
  const std::string written =
      write(chat, json::array({message("user", "?"), std::move(called), std::move(found)}),
            json::array({tool(called_tool), tool(other_tool)}));
  return has_the_call(written) && has_all(written, {other_tool, second_text});
}

// Who writes any role as it is has no word for this one: it must be named.
bool knows_developers(const chat_template& chat) {
  const std::string_view source = chat.source();
  if (!has_all(source, {"'developer'"}) && !has_all(source, {"\"developer\""})) return false;
  return has_all(write(chat, json::array({message("developer", first_text), message("user", "?")})),
                 {first_text});
}

// Where even one is refused, or left out, joining them is of no use.
bool takes_one_system_message(const chat_template& chat) {
  const auto has_both = [&](json messages) {
    messages.push_back(message("user", "?"));
    return has_all(write(chat, std::move(messages)), {first_text, second_text});
  };
  return !has_both(json::array({message("system", first_text), message("system", second_text)})) &&
         has_both(json::array({message("system", std::string(first_text) + "\n\n" + second_text)}));
}

}  // namespace

template_traits find_traits(const chat_template& chat) {
  return {.writes_tool_calls = writes_tool_calls(chat),
          .knows_developers = knows_developers(chat),
          .takes_one_system_message = takes_one_system_message(chat)};
}

}  // namespace troupe
