// What a model writes that may call tools: text, and calls in the form that Nous Research's Hermes models
// brought up and Qwen's, among others, are trained on.
// Source: https://huggingface.co/NousResearch/Hermes-2-Pro-Llama-3-8B (prompt format for function calling).
#pragma once
#include <string>
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/options.hpp"

namespace troupe::grammar {

// A call is
//   <tool_call>
//   {"name": "NAME", "arguments": {...}}
//   </tool_call>
// with the white space shown; arguments may have their own.
struct tool_call_form {
  static constexpr std::string_view opening = "<tool_call>";
  static constexpr std::string_view before_name = "<tool_call>\n{\"name\": \"";
  static constexpr std::string_view before_arguments = "\", \"arguments\": ";
  // No JSON text has it in it: within a string there is no line break, and elsewhere no '<'.
  static constexpr std::string_view after_arguments = "}\n</tool_call>";
  static constexpr std::string_view between_calls = "\n";
};

// {"tools": [{"function": {"name": "f", "parameters": SCHEMA}}, ...], "only": "", "must_call": false,
//  "only_once": false, "response": SCHEMA}
// Any text with calls of these tools in it (of the one that "only" names, if any); with must_call calls and
// nothing else; with "response", which may be left out, calls or a JSON text of that schema. only_once: one
// call at most, which ends the text. Names are letters, digits and signs that JSON writes as they are.
// Errors: invalid_argument with the JSON pointer of what is wrong; those of json_schema_symbol().
result<grammar_builder> tool_call_grammar(std::string_view text, const json_schema::schema_options& options,
                                          const grammar_limits& limits);

}  // namespace troupe::grammar
