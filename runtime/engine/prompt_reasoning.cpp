#include "runtime/engine/prompt_reasoning.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/text_ends.hpp"

namespace troupe {
namespace {

constexpr std::size_t longest_end = 32;  // tokens: a mark byte by byte, and white space

reasoning_start at_end_of(std::string_view text) {
  const std::string_view said = text.substr(0, without_space_at_end(text));
  if (said.ends_with(reasoning_marks::opening)) return reasoning_start::begun;
  return said.ends_with(reasoning_marks::closing) ? reasoning_start::none : reasoning_start::possible;
}

// A message that was cut off while the model was thinking is gone on with there.
reasoning_start within(const json& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_string()) return reasoning_start::none;
  const auto& text = content->get_ref<const std::string&>();
  const std::size_t opening = text.rfind(reasoning_marks::opening),
                    closing = text.rfind(reasoning_marks::closing);
  const bool is_open = opening != std::string::npos && (closing == std::string::npos || closing < opening);
  return is_open ? reasoning_start::begun : reasoning_start::none;
}

}  // namespace

reasoning_start reasoning_of(const generation_request& request, std::span<const token_id> prompt,
                             const tokenizer& tokenizer, const chat_template& chat) {
  const auto* const asked = std::get_if<chat_prompt>(&request.prompt);
  if (asked == nullptr || !chat.reasons()) return reasoning_start::none;
  if (asked->continue_final_message) return within(asked->messages.back());
  if (!asked->add_generation_prompt) return reasoning_start::none;
  return at_end_of(tokenizer.decode(prompt.last(std::min(prompt.size(), longest_end)), false));
}

}  // namespace troupe
