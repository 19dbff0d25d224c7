#include "runtime/openai/responses/input_items.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/openai/content_parts.hpp"

namespace troupe::openai {
namespace {

tl::unexpected<error> wrong(std::string message) {
  return fail(error_code::invalid_argument, std::move(message), "input");
}

// The member of that name, null where there is none. Of `item`.
const json& member(const json& item, std::string_view name) {
  static const json none;
  const auto found = item.find(name);
  return found == item.end() ? none : *found;
}

// A message's content or a call's output.
result<std::string> text_of(const json& content, const std::string& at) {
  if (content.is_string()) return content.get<std::string>();
  if (content.is_array()) return text_of_parts(content, at);
  return wrong(at + " must be a string or an array of parts");
}

// The texts of {"type": ..., "text": ...}.
std::string joined_texts(const json& parts) {
  std::string text;
  if (!parts.is_array()) return text;
  for (const json& part : parts)
    if (part.is_object() && member(part, "text").is_string())
      text += (text.empty() ? "" : "\n") + member(part, "text").get<std::string>();
  return text;
}

// Behind what stands there already, if anything does.
void add_line(json& target, std::string_view line) {
  if (target.is_null()) {
    target = std::string(line);
  } else {
    (target.get_ref<std::string&>() += '\n') += line;
  }
}

class item_reader {
 public:
  void add_instructions(const json& instructions) {
    messages_.push_back({{"role", "system"}, {"content", instructions}});
  }

  result<void> add(const json& item, const std::string& at) {
    constexpr std::size_t longest_shown = 64;
    if (!item.is_object()) return wrong(at + " must be an object");
    const json& type = member(item, "type");
    if (type == "message" || (type.is_null() && item.contains("role"))) return add_message(item, at);
    if (type == "function_call") return add_call(item, at);
    if (type == "function_call_output") return add_output(item, at);
    if (type == "reasoning") return add_reasoning(item);
    if (type == "item_reference")
      return wrong(at + " refers to an item that is not here: nothing is stored, send the item itself");
    const std::string shown = type.is_string() ? type.get<std::string>().substr(0, longest_shown) : "";
    return wrong(
        fmt::format("{}.type '{}' is not served: message, function_call, function_call_output and "
                    "reasoning are",
                    at, shown));
  }

  result<json> take() {
    end_turn();
    if (messages_.empty()) return wrong("input has nothing but what the model was thinking");
    return std::move(messages_);
  }

 private:
  result<void> add_message(const json& item, const std::string& at) {
    const json& role = member(item, "role");
    if (role != "user" && role != "assistant" && role != "system" && role != "developer")
      return wrong(at + ".role must be user, assistant, system or developer");
    auto text = text_of(member(item, "content"), at + ".content");
    if (!text) return tl::unexpected(text.error());
    if (role != "assistant") {
      end_turn();
      messages_.push_back({{"role", role}, {"content", std::move(*text)}});
      return {};
    }
    if (is_in_turn_ && has_text() && !has_calls()) end_turn();
    add_line(turn()["content"], *text);
    return {};
  }

  result<void> add_call(const json& item, const std::string& at) {
    for (const char* name : {"call_id", "name", "arguments"})
      if (!member(item, name).is_string()) return wrong(fmt::format("{}.{} must be a string", at, name));
    json call{{"id", item["call_id"]},
              {"type", "function"},
              {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}};
    turn()["tool_calls"].push_back(std::move(call));
    return {};
  }

  result<void> add_output(const json& item, const std::string& at) {
    if (!member(item, "call_id").is_string()) return wrong(at + ".call_id must be a string");
    auto text = text_of(member(item, "output"), at + ".output");
    if (!text) return tl::unexpected(text.error());
    end_turn();
    messages_.push_back({{"role", "tool"}, {"tool_call_id", item["call_id"]}, {"content", std::move(*text)}});
    return {};
  }

  result<void> add_reasoning(const json& item) {
    std::string text = joined_texts(member(item, "content"));
    if (text.empty()) text = joined_texts(member(item, "summary"));
    if (text.empty()) return {};
    if (is_in_turn_ && has_text() && !has_calls()) end_turn();
    add_line(turn()["reasoning_content"], text);
    return {};
  }

  // What the model says is put together here.
  json& turn() {
    if (!std::exchange(is_in_turn_, true)) messages_.push_back({{"role", "assistant"}, {"content", nullptr}});
    return messages_.back();
  }
  // Of the message that is put together.
  bool has_text() const { return !messages_.back()["content"].is_null(); }
  bool has_calls() const { return messages_.back().contains("tool_calls"); }
  // Thoughts that nothing came of are left out.
  void end_turn() {
    if (std::exchange(is_in_turn_, false) && !has_text() && !has_calls())
      messages_.erase(messages_.size() - 1);
  }

  json messages_ = json::array();
  bool is_in_turn_ = false;
};

}  // namespace

result<json> messages_of_items(const json& input, const json& instructions) {
  item_reader reader;
  if (instructions.is_string() && instructions != "") reader.add_instructions(instructions);
  if (input.is_string()) {
    if (auto added = reader.add({{"role", "user"}, {"content", input}}, "input"); !added)
      return tl::unexpected(added.error());
    return reader.take();
  }
  if (!input.is_array() || input.empty())
    return wrong("input must be a string or an array of items that is not empty");
  for (std::size_t i = 0; i < input.size(); ++i)
    if (auto added = reader.add(input[i], fmt::format("input[{}]", i)); !added)
      return tl::unexpected(added.error());
  return reader.take();
}

}  // namespace troupe::openai
