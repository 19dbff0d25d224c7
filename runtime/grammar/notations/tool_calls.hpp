// What a model writes that may call tools: text, and calls of the form of tool_call_form.hpp.
#pragma once
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// {"tools": [{"function": {"name": "f", "parameters": SCHEMA, "strict": false}}, ...], "only": "",
//  "must_call": false, "only_once": false, "response": SCHEMA}
// Any text with calls of these tools in it (of the one that "only" names, if any); with must_call calls and
// nothing else; with "response", which may be left out, calls or a JSON text of that schema. only_once: one
// call at most, which ends the text. Up to eight words of a tool's schema that cannot be enforced are left
// out, unless it is strict. Names are letters, digits and signs that JSON writes as they are. Errors:
// invalid_argument with the JSON pointer of what is wrong; those of json_schema_symbol().
result<grammar_builder> tool_call_grammar(std::string_view text, const json_schema::schema_options& options,
                                          const grammar_limits& limits);

}  // namespace troupe::grammar
