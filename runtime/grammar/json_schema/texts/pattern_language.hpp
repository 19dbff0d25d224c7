// The texts in which a pattern is found, as one regular expression over their spellings.
#pragma once
#include <functional>
#include <string_view>

#include "runtime/grammar/json_schema/texts/pattern.hpp"
#include "runtime/grammar/regex/regex_store.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

struct pattern_reading {
  // One code point of the set, as the text spells it; any_text: every spelled text.
  std::function<grammar::regex_id(grammar::regex_store&, const grammar::code_point_set&)> spell;
  grammar::regex_id any_text{};
  bool whole_text = false;  // the pattern matches the text from end to end, not somewhere in it
};

// Anchors may stand anywhere, look-aheads anywhere but in a repeat. Errors: as parse_pattern; unsupported.
result<grammar::regex_id> pattern_language(grammar::regex_store& store, std::string_view text,
                                           const pattern_reading& reading, const pattern_limits& limits = {});

}  // namespace troupe::json_schema
