// JSON Schema (2020-12, 2019-09, draft 7, 6 and 4) to a grammar over lexemes. docs/grammar.md lists the
// words.
#pragma once
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

// The grammar of the JSON texts of all values that the schema allows; strings with a condition on them in the
// spelling of json.dumps(..., ensure_ascii=False), numbers with one without exponent.
// Errors: invalid_argument for what is no JSON Schema or allows no value, unsupported for a word that cannot
// be enforced, too_large past a limit; the message has the JSON pointer of the word, `param` is that pointer.
result<grammar::grammar_builder> read_json_schema(std::string_view text, const schema_options& options = {},
                                                  const grammar::grammar_limits& limits = {});

// The same as a symbol of a grammar that has other parts too. White space as in `options` may stand before
// each of the grammar's lexemes that is not tight. `steps`: what is left of limits.max_compile_steps.
result<grammar::symbol_id> json_schema_symbol(grammar::grammar_builder& builder, std::string_view text,
                                              const schema_options& options,
                                              const grammar::grammar_limits& limits,
                                              grammar::step_budget& steps);

// Of a schema whose grammar has no text, which only compile() has found out: the error with the place that is
// to blame.
error why_no_value(std::string_view text, const schema_options& options,
                   const grammar::grammar_limits& limits);

// The grammar of every JSON text, or of every JSON object.
result<grammar::grammar_builder> any_json(bool only_objects, const schema_options& options = {},
                                          const grammar::grammar_limits& limits = {});

}  // namespace troupe::json_schema
