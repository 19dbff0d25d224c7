#include "runtime/grammar/ebnf_reader.hpp"

#include <utf8proc.h>

namespace troupe::grammar {

namespace {

constexpr std::uint32_t most_repeats = 1'000'000'000;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

char ebnf_reader::take() {
  if (at_end()) return '\0';
  if (text_[at_] == '\n') ++line_;
  return text_[at_++];
}

bool ebnf_reader::take_if(std::string_view what) {
  if (!starts_with(what)) return false;
  for (std::size_t i = 0; i < what.size(); ++i) take();
  return true;
}

void ebnf_reader::skip_line() {
  while (!at_end() && peek() != '\n') take();
}

std::string ebnf_reader::name(std::string_view more) {
  const std::size_t from = at_;
  while (!at_end() && (is_name_character(peek()) || more.find(peek()) != std::string_view::npos)) take();
  return std::string(since(from));
}

tl::unexpected<error> ebnf_reader::invalid(std::string_view what) const {
  return fail(error_code::invalid_argument,
              "grammar: " + std::string(what) + ", line " + std::to_string(line_));
}

tl::unexpected<error> ebnf_reader::unsupported(std::string_view what) const {
  return fail(error_code::unsupported,
              "grammar: " + std::string(what) + " not supported, line " + std::to_string(line_));
}

result<void> ebnf_reader::enter(std::size_t depth) const {
  if (depth > max_depth_) return tl::unexpected(exceeded("levels of brackets", max_depth_, "max_depth"));
  return {};
}

result<std::uint32_t> ebnf_reader::number() {
  if (peek() < '0' || peek() > '9') return invalid("a number is missing");
  std::uint64_t value = 0;
  while (peek() >= '0' && peek() <= '9') {
    value = value * 10 + static_cast<std::uint64_t>(take() - '0');
    if (value > most_repeats) return tl::unexpected(exceeded("repeats", most_repeats, "max_repeats"));
  }
  return static_cast<std::uint32_t>(value);
}

result<std::uint32_t> ebnf_reader::character() {
  if (at_end()) return invalid("the text ends inside of a literal or class");
  if (peek() != '\\') {
    utf8proc_int32_t c = 0;
    const auto left = text_.substr(at_);
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(left.data()),
                                       static_cast<utf8proc_ssize_t>(left.size()), &c);
    if (size <= 0) return invalid("not UTF-8");
    for (utf8proc_ssize_t i = 0; i < size; ++i) take();
    return static_cast<std::uint32_t>(c);
  }
  take();
  const char kind = take();
  const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  if (digits == 0) {
    switch (kind) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case '\\':
      case '"':
      case '\'':
      case '[':
      case ']':
      case '/':
      case '^':
      case '-':
        return static_cast<std::uint32_t>(kind);
      default:
        return invalid("an unknown escape");
    }
  }
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = take();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return invalid("too few hexadecimal digits");
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return invalid("no code point");
  return value;
}

}  // namespace troupe::grammar
