// Structural tags as clients send them: JSON, in vLLM's older form or in XGrammar's.
#pragma once
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/options.hpp"

namespace troupe::grammar {

//   {"structures": [{"begin": "<f>", "schema": {...}, "end": "</f>"}], "triggers": ["<"]}
//   {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": [{"type":
//   "tag",
//    "begin": "<f>", "content": {"type": "json_schema", "json_schema": {...}}, "end": "</f>"}],
//    "at_least_one": false, "stop_after_first": false}}
// A content is a json_schema, a regex ("pattern") or a const_string ("value"); in the first form it is a
// schema. Errors: invalid_argument with the JSON pointer of what is wrong;
// unsupported for another format or content; those of structural_tag_symbol() and of the contents.
result<grammar_builder> structural_tag_grammar(std::string_view text,
                                               const json_schema::schema_options& options,
                                               const grammar_limits& limits);

}  // namespace troupe::grammar
