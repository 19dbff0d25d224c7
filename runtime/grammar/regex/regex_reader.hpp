// The characters of a pattern, one after the other, and the small things they spell: escapes and classes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/code_points.hpp"
#include "runtime/grammar/regex/regex_syntax.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

class regex_reader {
 public:
  static constexpr std::uint32_t no_more = ~std::uint32_t{0};

  // Errors: invalid_argument for what is not UTF-8.
  static result<regex_reader> make(std::string_view pattern, const regex_options& options,
                                   const grammar_limits& limits);

  std::uint32_t peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : no_more;
  }
  std::uint32_t take() { return at_ < text_.size() ? text_[at_++] : no_more; }
  bool at_end() const { return at_ >= text_.size(); }
  bool take_if(char c);
  bool take_if(std::string_view text);
  std::size_t position() const { return at_; }
  void move_to(std::size_t position) { at_ = position; }

  tl::unexpected<error> invalid(std::string_view what) const;
  tl::unexpected<error> unsupported(std::string_view what) const;

  // An escape after its backslash: what one character it may match. Places (\b, \A) and references are the
  // caller's.
  result<code_point_set> escape(bool in_class);
  // What is read from here on is denied, or no more: \d stands for the digits that every reader takes for
  // such, which are ASCII's, and where it is denied for all that any reader does, which are Unicode's. \w and
  // \s are what Rust's regex and Python's re have in common, with marks and joiners, and where they are
  // denied what either takes for such.
  void turn() { is_denied_ = !is_denied_; }
  // A class after its '['.
  result<code_point_set> char_class(bool case_insensitive, std::size_t depth = 0);
  // The set with both cases of each letter.
  result<code_point_set> both_cases(const code_point_set& set);
  // A class of Unicode has hundreds of ranges: what is done with them is counted. Errors: too_large past
  // limits.max_compile_steps.
  result<void> spend(std::uint64_t steps);
  // A decimal number; nothing where there is none. Errors: too_large past a billion.
  result<std::optional<std::uint32_t>> number();

 private:
  regex_reader(const regex_options& options, const grammar_limits& limits)
      : limits_(limits), shared_(options.steps), own_(limits.max_compile_steps) {}
  result<std::uint32_t> hexadecimal(std::size_t digits);
  result<std::uint32_t> braced_hexadecimal();
  result<code_point_set> named_class(std::uint32_t c);
  result<code_point_set> property(bool negated);
  result<std::uint32_t> escaped_code_point(std::uint32_t c);
  static std::optional<code_point_set> perl_class(std::uint32_t c, bool is_denied);
  result<std::optional<code_point_set>> posix_class();
  result<code_point_set> class_item(bool case_insensitive, std::size_t depth);

  std::vector<std::uint32_t> text_;
  std::size_t at_ = 0;
  grammar_limits limits_;
  step_budget* shared_;
  step_budget own_;  // without a shared one
  bool is_denied_ = false;
  std::unordered_map<std::uint32_t, code_point_set> cases_;  // of single letters
};

}  // namespace troupe::grammar
