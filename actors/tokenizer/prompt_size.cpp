#include "actors/tokenizer/prompt_size.hpp"

#include <algorithm>
#include <string>

namespace troupe {
namespace {

std::size_t text_bytes(const json& value) {
  return value.is_string() ? value.get_ref<const std::string&>().size() : 0;
}

// A content is a string or a list of parts with a "text" each.
std::size_t content_bytes(const json& content) {
  if (!content.is_array()) return text_bytes(content);
  std::size_t bytes = 0;
  for (const auto& part : content)
    if (part.is_object() && part.contains("text")) bytes += text_bytes(part["text"]);
  return bytes;
}

// What is certain to be written of a message's calls, in whatever form.
std::size_t call_bytes(const json& calls) {
  constexpr std::size_t least_form = 16;  // {"name":"","a":{}}
  std::size_t bytes = 0;
  if (!calls.is_array()) return bytes;
  for (const auto& call : calls) {
    const auto function = call.is_object() ? call.find("function") : call.end();
    if (!call.is_object() || function == call.end() || !function->is_object()) continue;
    const auto name = function->find("name");
    bytes += least_form + (name == function->end() ? 0 : text_bytes(*name));
  }
  return bytes;
}

struct prompt_measure {
  std::size_t operator()(const text_prompt& prompt) const { return prompt.text.size(); }
  std::size_t operator()(const token_prompt&) const { return 0; }
  std::size_t operator()(const chat_prompt& prompt) const {
    std::size_t bytes = 0;
    for (const auto& [name, value] : prompt.template_arguments.items()) bytes += text_bytes(value);
    if (!prompt.messages.is_array()) return bytes;
    for (const auto& message : prompt.messages) {
      if (!message.is_object()) continue;
      if (message.contains("content")) bytes += content_bytes(message["content"]);
      if (message.contains("tool_calls")) bytes += call_bytes(message["tool_calls"]);
    }
    return bytes;
  }
};

}  // namespace

std::size_t prompt_bytes(const generation_request& request) {
  return std::visit(prompt_measure{}, request.prompt);
}

std::size_t largest_prompt(const tokenizer& vocabulary, std::int32_t tokens) {
  std::size_t longest = 1;
  for (token_id id = 0; id < vocabulary.vocab_size(); ++id)
    longest = std::max(longest, vocabulary.piece(id).size());
  return longest * vocabulary.most_bytes_for_one() * static_cast<std::size_t>(std::max(tokens, 0));
}

}  // namespace troupe
