#include "runtime/chat_template/escapes.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <charconv>
#include <iterator>

#include "runtime/chat_template/characters.hpp"
#include "runtime/utf8.hpp"

namespace troupe::jinja {
namespace {

constexpr std::string_view plain_from = "\\'\"abfnrtv\n";
constexpr std::string_view plain_to = "\\'\"\a\b\f\n\r\t\v";  // a line break after a backslash is nothing

bool append_hex(std::string_view digits, std::size_t count, std::string& out) {
  std::uint32_t code_point = 0;
  if (digits.size() < count) return false;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + count, code_point, 16);
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (failure != std::errc() || end != digits.data() + count || code_point > 0x10FFFF || surrogate)
    return false;
  append_utf8(code_point, out);
  return true;
}

std::size_t hex_digits(char kind) { return kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0; }

bool is_printable(std::uint32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return code_point == ' ' || !(category >= UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_CN);
}

}  // namespace

std::optional<std::string> resolve_escapes(std::string_view literal) {
  std::string out;
  for (std::size_t at = 0; at < literal.size(); ++at) {
    if (literal[at] != '\\' || at + 1 == literal.size()) {
      out += literal[at];
      continue;
    }
    const char kind = literal[++at];
    if (const auto count = hex_digits(kind)) {
      if (!append_hex(literal.substr(at + 1), count, out)) return std::nullopt;
      at += count;
    } else if (const auto plain = plain_from.find(kind); plain != std::string_view::npos) {
      if (plain < plain_to.size()) out += plain_to[plain];
    } else if (kind >= '0' && kind <= '7') {
      std::uint32_t code_point = 0;
      for (int digits = 0; digits < 3 && at < literal.size() && literal[at] >= '0' && literal[at] <= '7';
           ++digits, ++at) {
        code_point = code_point * 8 + static_cast<std::uint32_t>(literal[at] - '0');
      }
      --at;
      append_utf8(code_point, out);
    } else {
      out += '\\';
      out += kind;
    }
  }
  return out;
}

std::string python_repr(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    if (code_point == static_cast<unsigned char>(quote) || code_point == '\\') {
      out += '\\';
      out += character;
    } else if (code_point == '\n' || code_point == '\r' || code_point == '\t') {
      out += code_point == '\n' ? "\\n" : code_point == '\r' ? "\\r" : "\\t";
    } else if (is_printable(code_point)) {
      out += character;
    } else if (code_point < 0x100) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", code_point);
    } else {
      const bool small = code_point < 0x10000;
      fmt::format_to(std::back_inserter(out), "\\{}{:0{}x}", small ? 'u' : 'U', code_point, small ? 4 : 8);
    }
  });
  return out + quote;
}

}  // namespace troupe::jinja
