// Patterns of JSON Schema: the regular expressions of ECMA-262 (section 22.2.1, with Unicode), read into a
// tree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/grammar/regex/code_points.hpp"
#include "runtime/grammar/regex/regex_store.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

using pattern_index = std::uint32_t;

using grammar::unbounded;

struct pattern_node {
  enum class kind : std::uint8_t {
    set,          // one code point of `set`
    concat,       // `children` one after another; none: the empty text
    alternation,  // one of `children`
    repeat,       // `children[0]`, `min` to `max` times
    start,        // ^
    end,          // $
    look_ahead,   // (?=...) or, `negative`, (?!...)
  };
  kind what = kind::concat;
  bool negative = false;
  bool has_anchor = false;  // here or below: ^ or $
  bool has_look = false;    // here or below: a look-ahead
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  grammar::code_point_set set;
  std::vector<pattern_index> children;
};

struct pattern {
  std::vector<pattern_node> nodes;  // children before their parents
  pattern_index root = 0;
};

struct pattern_limits {
  std::size_t max_bytes = 64U << 10U;
  std::size_t max_depth = 100;
  std::uint32_t max_repeat = 1U << 20U;
};

// \d, \w and \s are as in ECMA-262: ASCII digits and word characters, Unicode white space. \A and \z, \Z are
// read as ^ and $. Errors: invalid_argument for what is not a pattern; too_large; unsupported for
// back-references, \b, look-behind and unknown Unicode properties.
result<pattern> parse_pattern(std::string_view text, const pattern_limits& limits = {});

}  // namespace troupe::json_schema
