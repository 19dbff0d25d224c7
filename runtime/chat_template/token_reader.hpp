// The parsers' common ground: the place in the token list, the depth of nesting, and the first error.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/lexer.hpp"

namespace troupe::jinja {

class token_reader {
 public:
  token_reader(std::vector<token> tokens, std::size_t max_depth)
      : tokens_(std::move(tokens)), max_depth_(max_depth) {}

  const token& peek(std::size_t ahead = 0) const {
    return tokens_[position_ + ahead < tokens_.size() ? position_ + ahead : tokens_.size() - 1];
  }
  token next() {
    token taken = peek();
    if (position_ + 1 < tokens_.size()) ++position_;
    return taken;
  }
  bool is_symbol(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).what == token::kind::symbol && peek(ahead).text == text;
  }
  bool is_name(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).what == token::kind::name && peek(ahead).text == text;
  }
  bool take_symbol(std::string_view text) { return is_symbol(text) && (next(), true); }
  bool take_name(std::string_view text) { return is_name(text) && (next(), true); }
  void expect_symbol(std::string_view text) {
    if (!take_symbol(text)) complain("expected '" + std::string(text) + "'");
  }
  std::string expect_name(std::string_view what) {
    if (peek().what == token::kind::name) return next().text;
    complain("expected " + std::string(what));
    return {};
  }

  // The first complaint stays; from then on every parser returns what it has.
  void complain(std::string_view message, error_code code = error_code::invalid_argument) {
    if (!error_) error_ = source_error(code, peek().line, peek().column, message);
  }
  // A filter or a test that is not known: no mistake where it is never reached, as in a branch that is not
  // taken. Whoever parses such a place gives back what was held of the unknown before it.
  void suspect(std::string_view message) {
    if (!unknown_) unknown_ = source_error(error_code::unsupported, peek().line, peek().column, message);
  }
  const std::optional<error>& unknown() const { return unknown_; }
  void set_unknown(std::optional<error> before) { unknown_ = std::move(before); }

  // Whether one of the tokens from `begin` up to here is this name.
  bool has_named(std::size_t begin, std::string_view name) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(position_), [name](const token& each) {
                         return each.what == token::kind::name && each.text == name;
                       });
  }
  std::size_t position() const { return position_; }

  bool failed() const { return error_.has_value(); }
  const std::optional<error>& failure() const { return error_; }

  // One level of nesting for the life of the guard.
  class level {
   public:
    explicit level(token_reader& reader) : reader_(reader) {
      if (++reader_.depth_ > reader_.max_depth_) reader_.complain("nested too deeply");
    }
    ~level() { --reader_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    token_reader& reader_;
  };

 private:
  std::vector<token> tokens_;
  std::size_t position_ = 0;
  std::size_t depth_ = 0;
  std::size_t max_depth_;
  std::optional<error> error_, unknown_;
};

}  // namespace troupe::jinja
