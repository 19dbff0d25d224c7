#include "runtime/grammar/notations/ebnf_reader.hpp"

#include <algorithm>

#include "runtime/grammar/regex/code_points.hpp"
#include "runtime/utf8.hpp"

namespace troupe::grammar {

namespace {

constexpr std::uint32_t most_repeats = 1'000'000'000;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

result<void> check_ebnf_size(std::string_view text, const grammar_limits& limits) {
  if (text.size() > limits.max_source_bytes)
    return tl::unexpected(exceeded("bytes in a grammar", limits.max_source_bytes, "max_source_bytes"));
  return {};
}

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

void ebnf_reader::skip_comment() {
  const auto begins = [this](std::string_view comment) { return starts_with(comment); };
  if (std::none_of(comments_.begin(), comments_.end(), begins)) return;
  while (!at_end() && peek() != '\n') take();
}

void ebnf_reader::space(bool lines) {
  for (;;) {
    skip_comment();
    const char c = peek();
    if (at_end() || !(c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))) return;
    take();
  }
}

void ebnf_reader::space_before_bar(bool lines) {
  const ebnf_reader before = *this;
  space(true);
  if (lines || peek() == '|') return;
  *this = before;
  space(false);
}

void ebnf_reader::space_before_any(std::string_view signs) {
  const ebnf_reader before = *this;
  space(false);
  if (signs.find(peek()) == std::string_view::npos) *this = before;
}

result<void> ebnf_reader::line_end() const {
  if (at_end() || peek() == '\n' || peek() == '\r') return {};
  return invalid("an unexpected '" + std::string(1, peek()) + "'");
}

std::optional<ebnf_reader::repeat_counts> ebnf_reader::repeat_sign() {
  if (take_if("*")) return repeat_counts{0, unbounded};
  if (take_if("+")) return repeat_counts{1, unbounded};
  if (take_if("?")) return repeat_counts{0, 1};
  return std::nullopt;
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

tl::unexpected<error> ebnf_reader::unclosed(char opening, char closing, std::size_t line) const {
  const std::string quote = "'";
  return invalid("a '" + (opening + quote) + " of line " + std::to_string(line) + " without its '" +
                 (closing + quote));
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
    if (value > most_repeats) return tl::unexpected(exceeded("repeats", most_repeats, ""));
  }
  return static_cast<std::uint32_t>(value);
}

result<std::uint32_t> ebnf_reader::character() {
  if (at_end()) return invalid("the text ends inside of a literal or class");
  if (peek() != '\\') {
    const auto first = first_code_point(text_.substr(at_));
    if (!first) return invalid("not UTF-8");
    for (std::size_t i = 0; i < first->size; ++i) take();
    return first->value;
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
    const auto digit = hex_value(static_cast<unsigned char>(take()));
    if (!digit) return invalid("too few hexadecimal digits");
    value = value * 16 + *digit;
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return invalid("no code point");
  return value;
}

}  // namespace troupe::grammar
