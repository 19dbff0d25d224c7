// Regular expressions as people write them: the syntax of Rust's regex crate and RE2: \w \s and (?i) are
// Unicode's, classes nest, [a-z&&[^b]]. \d are the digits of ASCII alone, and where they are denied all of
// Unicode's: so whoever reads the text by either meaning finds that it matches. So with \w and \s, by Rust's
// and by Python's meaning, but that \w has marks and joiners, which Python's has not. (JSON Schema's,
// ECMA-262's: json_schema/pattern.hpp.) Refused by name: back-references, look-behind, look-ahead inside of
// groups, word boundaries, possessive and atomic groups, conditionals, recursion. Laziness (`*?`) does not
// change which texts match and is read over.
#pragma once
#include <string_view>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

struct regex_options {
  bool anchored = true;           // the whole text; false: somewhere in it
  bool case_insensitive = false;  // (?i) from the start
  bool dot_matches_new_line = false;
  // That all expressions of one grammar share; null: limits.max_compile_steps for this one.
  step_budget* steps = nullptr;
};

// `^`, `\A`, `$`, `\z` hold where the text begins and ends, in any branch; elsewhere they match nothing.
// (?=...) and (?!...) are taken outside of groups. Errors: invalid_argument with the offset; unsupported,
// naming the construct; too_large. Sets of characters are counted in steps, by their ranges.
result<regex_id> parse_regex(regex_store& store, std::string_view pattern, const regex_options& options,
                             const grammar_limits& limits);

}  // namespace troupe::grammar
