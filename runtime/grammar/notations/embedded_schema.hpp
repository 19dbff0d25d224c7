// JSON Schemas as parts of a larger JSON document that says what a text is.
#pragma once
#include <string>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/json/json.hpp"

namespace troupe::grammar {

// The texts of `schema`, which stands at the JSON pointer `at` of its document. Errors: those of
// json_schema_symbol(), with places in that document.
result<symbol_id> schema_symbol(grammar_builder& builder, const json& schema, const std::string& at,
                                const json_schema::schema_options& options, const grammar_limits& limits);
// With so many of the limits' steps.
result<symbol_id> schema_symbol(grammar_builder& builder, const json& schema, const std::string& at,
                                const json_schema::schema_options& options, const grammar_limits& limits,
                                step_budget& steps);

}  // namespace troupe::grammar
