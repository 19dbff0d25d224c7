#include "runtime/gguf/printable.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <iterator>

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

void append_bytes(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
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
    if (at + step > limit) return out + "...";
    const auto piece = text.substr(at, step);
    if (length > 0 && !is_control(code_point)) {
      out += piece;
    } else {
      append_bytes(piece, out);
    }
    at += step;
  }
  return out;
}

}  // namespace troupe::gguf
