// The characters of an EBNF text, with the line they stand in.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/grammar/ebnf_rules.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

class ebnf_reader {
 public:
  ebnf_reader(std::string_view text, const grammar_limits& limits)
      : text_(text), max_depth_(limits.max_depth) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take();
  bool take_if(std::string_view what);
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  std::size_t line() const { return line_; }
  std::size_t position() const { return at_; }
  std::string_view since(std::size_t position) const { return text_.substr(position, at_ - position); }
  void skip_line();
  // [A-Za-z0-9_] and `more`; may be empty.
  std::string name(std::string_view more);

  // One character as it stands, or one spelled by \n \r \t \\ \" \' \[ \] \/ \- \xHH \uHHHH \UHHHHHHHH.
  result<std::uint32_t> character();
  // Errors: too_large past a billion.
  result<std::uint32_t> number();
  // Down one level of brackets. Errors: too_large.
  result<void> enter(std::size_t depth) const;

  tl::unexpected<error> invalid(std::string_view what) const;
  tl::unexpected<error> unsupported(std::string_view what) const;

 private:
  std::string_view text_;
  std::size_t max_depth_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace troupe::grammar
