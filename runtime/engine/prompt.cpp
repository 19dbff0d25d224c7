#include "runtime/engine/prompt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/engine/tool_prompt.hpp"
#include "runtime/openai/messages.hpp"

namespace troupe {
namespace {

using prompt_tokens = result<std::vector<token_id>>;

std::string text_of(const tokenizer& tokenizer, std::optional<token_id> id) {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// As Hugging Face's apply_chat_template: templates may trim a message, so that it ends where its own blanks
// do or where its last word does. False where it is empty or not found.
bool cut_behind_last_message(std::string& text, const nlohmann::ordered_json& messages) {
  const std::string& said = messages.back()["content"].get_ref<const std::string&>();
  const std::string_view words = without_blanks(said);
  const std::size_t found = words.empty() ? std::string::npos : text.rfind(words);
  if (found == std::string::npos) return false;
  const std::string_view with_blanks_behind = std::string_view(said).substr(said.find(words));
  const bool is_whole = std::string_view(text).substr(found).starts_with(with_blanks_behind);
  text.resize(found + (is_whole ? with_blanks_behind : words).size());
  return true;
}

struct prompt_builder {
  const tokenizer& vocabulary;
  const chat_template& chat;

  prompt_tokens operator()(const chat_prompt& prompt) const {
    auto messages = openai::read_messages(prompt.messages);
    if (!messages) return tl::unexpected(messages.error());
    for (auto& message : *messages) {
      if (message["content"].is_null())
        message["content"] = "";  // as vLLM: templates join contents as strings
    }
    const bool knows_tools = chat.writes_tool_calls();
    if (!knows_tools) write_out_tools(*messages, prompt.tools);
    // The variables that Hugging Face's apply_chat_template sets; what a request does not have is none there.
    nlohmann::ordered_json context;
    context["messages"] = std::move(*messages);
    context["add_generation_prompt"] = prompt.add_generation_prompt;
    context["bos_token"] = text_of(vocabulary, vocabulary.bos());
    context["eos_token"] = text_of(vocabulary, vocabulary.eos());
    context["tools"] = knows_tools ? prompt.tools : nullptr;
    context["documents"] = nullptr;
    for (const auto* arguments : {&chat.arguments(), &prompt.template_arguments})
      for (const auto& [name, value] : arguments->items()) context[name] = value;
    auto text = chat.render(context);
    const bool has_instructions = !knows_tools && !prompt.tools.is_null();
    if (!text && has_instructions && tell_the_user_instead(context["messages"])) text = chat.render(context);
    if (!text) return fail(text.error().code, text.error().message, "messages");
    if (prompt.continue_final_message && !cut_behind_last_message(*text, context["messages"]))
      return fail(
          error_code::invalid_argument,
          "continue_final_message needs a last message with a text that the chat template writes as it is",
          "messages");
    return not_empty(
        vocabulary.encode(*text, {.add_special_tokens = prompt.add_special_tokens, .parse_special = true}),
        "messages");
  }

  prompt_tokens operator()(const text_prompt& prompt) const {
    const encode_options options{.add_special_tokens = prompt.add_special_tokens, .parse_special = true};
    return not_empty(vocabulary.encode(prompt.text, options), "prompt");
  }

  prompt_tokens operator()(const token_prompt& prompt) const {
    for (const auto id : prompt.ids) {
      if (id >= 0 && id < vocabulary.vocab_size()) continue;
      return fail(
          error_code::invalid_argument,
          fmt::format("token id {} is outside the vocabulary of {} tokens", id, vocabulary.vocab_size()),
          "prompt");
    }
    return not_empty(prompt.ids, "prompt");
  }

  static prompt_tokens not_empty(std::vector<token_id> ids, const char* param) {
    if (ids.empty()) return fail(error_code::invalid_argument, "the prompt must not be empty", param);
    return ids;
  }
};

}  // namespace

result<std::vector<token_id>> build_prompt(const generation_request& request, const tokenizer& tokenizer,
                                           const chat_template& chat) {
  return std::visit(prompt_builder{tokenizer, chat}, request.prompt);
}

std::string_view field_of_prompt(const generation_request& request) {
  return std::holds_alternative<chat_prompt>(request.prompt) ? "messages" : "prompt";
}

}  // namespace troupe
