// Structural tags as clients send them: JSON, in vLLM's older form or in XGrammar's.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/document/unknown_words.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/json/json.hpp"

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

// Words and formats of its schemas that say nothing, by their pointers in the tags; `most` at most.
std::vector<json_schema::unknown_word> unknown_words_in_tags(const json& tags, std::size_t most);

}  // namespace troupe::grammar
