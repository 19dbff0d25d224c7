// The characters of an EBNF text, with the line they stand in.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/grammar/notations/ebnf_rules.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// `text` must not be longer than limits.max_source_bytes. Errors: too_large.
result<void> check_ebnf_size(std::string_view text, const grammar_limits& limits);

class ebnf_reader {
 public:
  struct repeat_counts {
    std::uint32_t min = 0, max = 0;
  };
  static constexpr std::size_t most_repeats_of_one = 16;  // they nest without brackets

  // `comments`: what a comment, which ends with its line, begins with. Must outlive the reader.
  ebnf_reader(std::string_view text, const grammar_limits& limits, std::span<const std::string_view> comments)
      : text_(text), comments_(comments), max_depth_(limits.max_depth) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take();
  bool take_if(std::string_view what);
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  std::size_t line() const { return line_; }
  std::size_t position() const { return at_; }
  std::string_view since(std::size_t position) const { return text_.substr(position, at_ - position); }
  // Passes over blanks and comments; with `lines` also over the ends of lines.
  void space(bool lines);
  // A rule ends with its line, except in brackets (`lines`) and where the next line begins with a '|'.
  void space_before_bar(bool lines);
  // Passes over blanks where one of these characters follows in the same line.
  void space_before_any(std::string_view signs);
  // What stands between rules. Errors: invalid_argument for anything but the end of a line or text.
  result<void> line_end() const;
  // What '*', '+' or '?' means, if one of them is next.
  std::optional<repeat_counts> repeat_sign();
  // [A-Za-z0-9_] and `more`; may be empty.
  std::string name(std::string_view more);

  // One character as it stands, or one spelled by \n \r \t \\ \" \' \[ \] \/ \- \xHH \uHHHH \UHHHHHHHH.
  result<std::uint32_t> character();
  // Errors: too_large past a billion.
  result<std::uint32_t> number();
  // Down one level of brackets. Errors: too_large.
  result<void> enter(std::size_t depth) const;

  tl::unexpected<error> invalid(std::string_view what) const;
  // "a '(' of line 1 without its ')'": names the line that it opens in, too.
  tl::unexpected<error> unclosed(char opening, char closing, std::size_t line) const;
  tl::unexpected<error> unsupported(std::string_view what) const;

 private:
  void skip_comment();
  std::string_view text_;
  std::span<const std::string_view> comments_;
  std::size_t max_depth_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace troupe::grammar
