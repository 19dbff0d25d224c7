#include "runtime/chat_template/template_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace troupe {
namespace {

constexpr const char* param = "chat_template_kwargs";
constexpr std::size_t most_arguments = 64;
// What a chat sets itself (runtime/engine/prompt.cpp), and what chooses the template.
constexpr std::array<std::string_view, 8> of_chats{"messages",      "tools",     "add_generation_prompt",
                                                   "bos_token",     "eos_token", "documents",
                                                   "chat_template", "tokenize"};

}  // namespace

result<void> check_template_arguments(const json& arguments) {
  if (!arguments.is_object())
    return fail(error_code::invalid_argument, fmt::format("{} must be an object", param), param);
  if (arguments.size() > most_arguments)
    return fail(error_code::invalid_argument,
                fmt::format("{} has {} members: at most {}", param, arguments.size(), most_arguments), param);
  for (const auto& [name, value] : arguments.items())
    if (std::ranges::find(of_chats, name) != of_chats.end())
      return fail(error_code::invalid_argument, fmt::format("{} must not set {}", param, name), param);
  return {};
}

result<json> parse_template_arguments(std::string_view text) {
  if (text.empty()) return json(nullptr);
  auto arguments = json::parse(text, nullptr, false);
  if (arguments.is_discarded())
    return fail(error_code::invalid_argument, fmt::format("{} must be a JSON object", param), param);
  if (auto checked = check_template_arguments(arguments); !checked) return tl::unexpected(checked.error());
  return arguments;
}

}  // namespace troupe
