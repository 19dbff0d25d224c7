#include "runtime/gguf/printable.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include "runtime/utf8.hpp"

namespace troupe::gguf {
namespace {

bool is_control(std::uint32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:  // format characters turn the direction of the text
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  std::string out;
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto first = first_code_point(text.substr(at));
    const std::size_t step = first ? first->size : 1;
    const auto piece = text.substr(at, step);
    const auto shown = first && !is_control(first->value) ? std::string(piece) : escaped(piece);
    if (out.size() + shown.size() > limit) return out + "...";
    out += shown;
    at += step;
  }
  return out;
}

}  // namespace troupe::gguf
