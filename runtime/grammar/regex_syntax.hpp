// Regular expressions as people write them: the syntax of Rust's regex crate and RE2, and ECMA-262's where it
// differs. Refused by name: back-references, look-behind, look-ahead inside of groups, word boundaries,
// possessive and atomic groups, conditionals, recursion. Laziness (`*?`) does not change which texts match
// and is read over.
#pragma once
#include <functional>
#include <string_view>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex_store.hpp"

namespace troupe::grammar {

enum class regex_dialect {
  rust,  // \d \w \s and (?i) are Unicode's, classes nest, [a-z&&[^b]]
  ecma,  // \d \w are ASCII's, \s is JavaScript's; "[]" is nothing, "[^]" any; \cX, \u{X}, \uXXXX, "\/", {,5}
         // literal
};

struct regex_options {
  regex_dialect dialect = regex_dialect::rust;
  bool anchored = true;           // the whole text; false: somewhere in it, as JSON Schema's `pattern`
  bool case_insensitive = false;  // (?i) from the start
  bool dot_matches_new_line = false;
  // How one code point of a set is spelled; without it as UTF-8. A JSON string's body spells '"' as "\"" and
  // so on. `anything` is put before and after an unanchored pattern: spell's any text.
  std::function<regex_id(regex_store&, const code_point_set&)> spell = {};
};

// `^`, `\A`, `$`, `\z` hold where the text begins and ends, in any branch; elsewhere they match nothing.
// (?=...) and
// (?!...) are taken outside of groups. Errors: invalid_argument with the offset; unsupported, naming the
// construct; too_large.
result<regex_id> parse_regex(regex_store& store, std::string_view pattern, const regex_options& options,
                             const grammar_limits& limits);

}  // namespace troupe::grammar
