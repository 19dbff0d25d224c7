#include "runtime/gguf/printable.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

namespace troupe::gguf {
namespace {

bool is_control(utf8proc_int32_t code_point) {
  switch (utf8proc_category(code_point)) {
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
    utf8proc_int32_t code_point = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
    const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    const std::size_t step = length > 0 ? static_cast<std::size_t>(length) : 1;
    const auto piece = text.substr(at, step);
    const auto shown = length > 0 && !is_control(code_point) ? std::string(piece) : escaped(piece);
    if (out.size() + shown.size() > limit) return out + "...";
    out += shown;
    at += step;
  }
  return out;
}

}  // namespace troupe::gguf
