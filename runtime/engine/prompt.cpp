#include "runtime/engine/prompt.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/engine/system_messages.hpp"
#include "runtime/engine/tool_prompt.hpp"
#include "runtime/openai/messages.hpp"

namespace troupe {
namespace {

using prompt_tokens = result<std::vector<token_id>>;

std::string text_of(const tokenizer& tokenizer, std::optional<token_id> id) {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

constexpr std::string_view blanks = " \t\r\n\f\v";
// Stands behind a message whose end is looked for: no part of it is in what templates write. Where a template
// trims messages its last blank is gone.
constexpr std::string_view end_mark = "end-of-the-message-that-goes-on ";

bool mark_end_of_last(json& messages) {
  auto& said = messages.back()["content"].get_ref<std::string&>();
  if (said.find_first_not_of(blanks) == std::string::npos) return false;
  said += end_mark;
  return true;
}

// As Hugging Face's apply_chat_template.
bool cut_at_mark(std::string& text) {
  const std::string_view trimmed = end_mark.substr(0, end_mark.size() - 1);
  const std::size_t found = text.rfind(trimmed);
  if (found == std::string::npos) return false;
  const bool was_trimmed = !std::string_view(text).substr(found).starts_with(end_mark);
  text.resize(found);
  if (was_trimmed) text.resize(text.find_last_not_of(blanks) + 1);
  return true;
}

struct prompt_builder {
  const tokenizer& vocabulary;
  const chat_template& chat;
  const std::optional<std::tm>& now;

  prompt_tokens operator()(const chat_prompt& prompt) const {
    auto messages = openai::read_messages(prompt.messages);
    if (!messages) return tl::unexpected(messages.error());
    for (auto& message : *messages) {
      if (message["content"].is_null())
        message["content"] = "";  // as vLLM: templates join contents as strings
    }
    const chat_template& used = prompt.tools.is_null() ? chat : chat.for_tools();
    fit_system_messages(*messages, used);
    const bool knows_tools = used.writes_tool_calls();
    if (!knows_tools) write_out_tools(*messages, prompt.tools);
    // The variables that Hugging Face's apply_chat_template sets; what a request does not have is none there.
    json context;
    context["messages"] = std::move(*messages);
    context["add_generation_prompt"] = prompt.add_generation_prompt;
    context["bos_token"] = text_of(vocabulary, vocabulary.bos());
    context["eos_token"] = text_of(vocabulary, vocabulary.eos());
    context["tools"] = knows_tools ? prompt.tools : nullptr;
    context["documents"] = nullptr;
    for (const auto* arguments : {&chat.arguments(), &prompt.template_arguments})
      for (const auto& [name, value] : arguments->items()) context[name] = value;
    const bool may_go_on = !prompt.continue_final_message || mark_end_of_last(context["messages"]);
    auto text = used.render(context, now);
    const bool has_instructions = !knows_tools && !prompt.tools.is_null();
    if (!text && has_instructions && tell_the_user_instead(context["messages"]))
      text = used.render(context, now);
    if (!text) return fail(text.error().code, text.error().message, std::string(prompt.field));
    if (!may_go_on || (prompt.continue_final_message && !cut_at_mark(*text)))
      return fail(
          error_code::invalid_argument,
          "continue_final_message needs a last message with a text that the chat template writes as it is",
          std::string(prompt.field));
    return not_empty(
        vocabulary.encode(*text, {.add_special_tokens = prompt.add_special_tokens, .parse_special = true}),
        prompt.field);
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

  static prompt_tokens not_empty(std::vector<token_id> ids, std::string_view param) {
    if (ids.empty())
      return fail(error_code::invalid_argument, "the prompt must not be empty", std::string(param));
    return ids;
  }
};

}  // namespace

result<std::vector<token_id>> build_prompt(const generation_request& request, const tokenizer& tokenizer,
                                           const chat_template& chat, const std::optional<std::tm>& now) {
  return std::visit(prompt_builder{tokenizer, chat, now}, request.prompt);
}

std::string_view field_of_prompt(const generation_request& request) {
  const auto* const chat = std::get_if<chat_prompt>(&request.prompt);
  return chat == nullptr ? "prompt" : chat->field;
}

}  // namespace troupe
