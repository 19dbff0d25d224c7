#include "runtime/chat_template/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/chat_template/escapes.hpp"

namespace troupe::jinja {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string normalize_line_breaks(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r') {
      out += '\n';
      if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    } else {
      out += source[at];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class lexer {
 public:
  explicit lexer(std::string_view source) : source_(source) {}

  result<std::vector<token>> run() {
    while (!error_ && position_ < source_.size()) lex_text();
    push(token::kind::end, {});
    if (error_) return tl::unexpected(std::move(*error_));
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(position_); }

  // Text up to the next tag, then the tag.
  void lex_text() {
    auto begin = position_;
    while (begin + 1 < source_.size() && !(source_[begin] == '{' && is_tag(source_[begin + 1]))) ++begin;
    if (begin + 1 >= source_.size()) {
      push(token::kind::text, std::string(rest()));
      return advance(source_.size() - position_);
    }
    const char tag = source_[begin + 1];
    const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    auto text = source_.substr(position_, begin - position_);
    if (sign == '-') {
      while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    } else if (sign != '+' && tag != '{') {
      text = without_indentation(text);
    }
    if (!text.empty()) push(token::kind::text, std::string(text));
    advance(begin - position_ + (sign == '-' || sign == '+' ? 3 : 2));
    if (tag == '#') return lex_comment();
    if (tag == '%' && lex_raw()) return;
    lex_tag(tag);
  }

  static bool is_tag(char c) { return c == '{' || c == '%' || c == '#'; }

  // lstrip_blocks: white space between the line's beginning and a block is dropped.
  std::string_view without_indentation(std::string_view text) const {
    const auto line_break = text.rfind('\n');
    if (line_break == std::string_view::npos && !line_starting_) return text;
    const auto begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space)
               ? text.substr(0, begin)
               : text;
  }

  // Steps over what follows a tag's end: everything white after '-', one line break after a block or comment.
  void close(char sign, bool block) {
    const auto before = position_;
    if (sign == '-') {
      while (position_ < source_.size() && is_space(source_[position_])) advance(1);
    } else if (block && sign != '+' && rest().starts_with('\n')) {
      advance(1);
    }
    line_starting_ = position_ > before && source_[position_ - 1] == '\n';
  }

  void lex_comment() {
    const auto end = source_.find("#}", position_);
    if (end == std::string_view::npos) return complain("a comment is not closed");
    const char sign = end > position_ ? source_[end - 1] : '\0';
    advance(end + 2 - position_);
    close(sign, true);
  }

  // {% raw %}...{% endraw %}; false: another block.
  bool lex_raw() {
    auto at = skip_spaces(position_);
    if (!source_.substr(at).starts_with("raw")) return false;
    at = skip_spaces(at + 3);
    const char sign = at < source_.size() ? source_[at] : '\0';
    if (sign == '-' || sign == '+') ++at;
    if (!source_.substr(at).starts_with("%}")) return false;
    advance(at + 2 - position_);
    close(sign, true);
    return lex_raw_text(), true;
  }

  void lex_raw_text() {
    for (auto begin = source_.find("{%", position_); begin != std::string_view::npos;
         begin = source_.find("{%", begin + 2)) {
      auto at = begin + 2;
      const char open = at < source_.size() ? source_[at] : '\0';
      if (open == '-' || open == '+') ++at;
      at = skip_spaces(at);
      if (!source_.substr(at).starts_with("endraw")) continue;
      at = skip_spaces(at + 6);
      const char sign = at < source_.size() ? source_[at] : '\0';
      if (sign == '-' || sign == '+') ++at;
      if (!source_.substr(at).starts_with("%}")) continue;
      auto text = source_.substr(position_, begin - position_);
      if (open == '-') {
        while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
      } else if (open != '+') {
        text = without_indentation(text);
      }
      push(token::kind::text, std::string(text));
      advance(at + 2 - position_);
      return close(sign, true);
    }
    complain("a raw block is not closed");
  }

  std::size_t skip_spaces(std::size_t at) const {
    while (at < source_.size() && is_space(source_[at])) ++at;
    return at;
  }

  void lex_tag(char tag) {
    const bool block = tag == '%';
    const std::string_view end = block ? "%}" : "}}";
    push(block ? token::kind::block_begin : token::kind::output_begin, {});
    std::size_t open_braces = 0;
    while (!error_) {
      advance(skip_spaces(position_) - position_);
      if (rest().empty()) return complain(block ? "a block is not closed" : "an expression is not closed");
      const bool sign =
          (rest()[0] == '-' || (rest()[0] == '+' && block)) && rest().substr(1).starts_with(end);
      if (open_braces == 0 && (sign || rest().starts_with(end))) {
        const char trim = sign ? rest()[0] : '\0';
        push(block ? token::kind::block_end : token::kind::output_end, {});
        advance(end.size() + (sign ? 1 : 0));
        return close(trim, block);
      }
      lex_token();
      if (error_ || tokens_.back().what != token::kind::symbol) continue;
      const char symbol = tokens_.back().text[0];
      if (symbol == '{' || symbol == '[' || symbol == '(') ++open_braces;
      if ((symbol == '}' || symbol == ']' || symbol == ')') && open_braces > 0) --open_braces;
    }
  }

  void lex_token() {
    const char first = rest()[0];
    if (begins_name(first)) return lex_name();
    if (is_digit(first)) return lex_number();
    if (first == '\'' || first == '"') return lex_string(first);
    static constexpr std::array<std::string_view, 6> pairs = {"**", "//", "==", "!=", "<=", ">="};
    for (const auto pair : pairs) {
      if (rest().starts_with(pair)) return take(token::kind::symbol, 2);
    }
    if (std::string_view("+-*/%~<>=.,:|()[]{}").find(first) == std::string_view::npos) {
      return complain("an unexpected character");
    }
    take(token::kind::symbol, 1);
  }

  void lex_name() {
    std::size_t size = 1;
    while (size < rest().size() && (begins_name(rest()[size]) || is_digit(rest()[size]))) ++size;
    take(token::kind::name, size);
  }

  void lex_number() {
    std::size_t size = 1;
    const auto more_digits = [&] {
      while (size < rest().size() && (is_digit(rest()[size]) || rest()[size] == '_')) ++size;
    };
    const auto digit_at = [&](std::size_t at) { return at < rest().size() && is_digit(rest()[at]); };
    more_digits();
    auto kind = token::kind::integer;
    if (size < rest().size() && rest()[size] == '.' && digit_at(size + 1)) {
      kind = token::kind::real;
      ++size;
      more_digits();
    }
    if (size < rest().size() && (rest()[size] == 'e' || rest()[size] == 'E')) {
      const bool sign = size + 1 < rest().size() && (rest()[size + 1] == '+' || rest()[size + 1] == '-');
      if (digit_at(size + 1 + (sign ? 1 : 0))) {
        kind = token::kind::real;
        size += sign ? 2 : 1;
        more_digits();
      }
    }
    take(kind, size);
    std::erase(tokens_.back().text, '_');
  }

  void lex_string(char quote) {
    std::size_t end = 1;
    while (end < rest().size() && rest()[end] != quote) end += rest()[end] == '\\' ? 2 : 1;
    if (end >= rest().size()) return complain("a string is not closed");
    auto text = resolve_escapes(rest().substr(1, end - 1));
    if (!text) return complain("a string holds a bad escape");
    push(token::kind::string, std::move(*text));
    advance(end + 1);
  }

  void take(token::kind kind, std::size_t size) {
    push(kind, std::string(rest().substr(0, size)));
    advance(size);
  }

  void push(token::kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_, column_});
  }

  void advance(std::size_t size) {
    for (const char c : rest().substr(0, size)) {
      column_ = c == '\n' ? 1 : column_ + 1;
      if (c == '\n') ++line_;
    }
    position_ += size;
  }

  void complain(std::string_view message) {
    error_ = source_error(error_code::invalid_argument, line_, column_, message);
  }

  std::string_view source_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1, column_ = 1;
  bool line_starting_ = true;
  std::vector<token> tokens_;
  std::optional<error> error_;
};

}  // namespace

error source_error(error_code code, std::uint32_t line, std::uint32_t column, std::string_view message) {
  return {code, fmt::format("chat template, line {}, column {}: {}", line, column, message), {}};
}

result<std::vector<token>> tokenize_template(std::string_view source) {
  const auto normalized = normalize_line_breaks(source);
  return lexer(normalized).run();
}

}  // namespace troupe::jinja
