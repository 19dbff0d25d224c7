#include "runtime/openai/content_parts.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::openai {
namespace {

// The member that holds the text of such a part; empty where it has none.
std::string_view text_member(std::string_view type) {
  if (type == "text" || type == "input_text" || type == "output_text") return "text";
  return type == "refusal" ? type : std::string_view();
}

}  // namespace

result<std::string> text_of_parts(const json& parts, std::string_view at) {
  constexpr std::size_t longest_shown = 64;
  const auto wrong = [at](std::string_view what) {
    return fail(error_code::invalid_argument, fmt::format("{} {}", at, what),
                std::string(at.substr(0, at.find('['))));
  };
  std::string text;
  bool first = true;
  for (const json& part : parts) {
    if (!part.is_object()) return wrong("must hold objects with a \"type\"");
    const auto type = part.find("type");
    if (type == part.end() || !type->is_string()) return wrong("has a part without a \"type\"");
    const auto& kind = type->get_ref<const std::string&>();
    const std::string_view member = text_member(kind);
    if (member.empty())
      return wrong(fmt::format("has a part of the type '{}': only texts are supported",
                               kind.substr(0, longest_shown)));
    const auto piece = part.find(member);
    if (piece == part.end() || !piece->is_string())
      return wrong(fmt::format("has a {} part without a string \"{}\"", kind, member));
    if (!std::exchange(first, false)) text += '\n';
    text += piece->get_ref<const std::string&>();
  }
  return text;
}

}  // namespace troupe::openai
