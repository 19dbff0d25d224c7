#include "runtime/grammar/notations/embedded_schema.hpp"

#include <fmt/format.h>

#include <string_view>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/json/exact_number.hpp"

namespace troupe::grammar {

result<symbol_id> schema_symbol(grammar_builder& builder, const json& schema, const std::string& at,
                                const json_schema::schema_options& options, const grammar_limits& limits) {
  step_budget steps(limits.max_compile_steps);
  return schema_symbol(builder, schema, at, options, limits, steps);
}

result<symbol_id> schema_symbol(grammar_builder& builder, const json& schema, const std::string& at,
                                const json_schema::schema_options& options, const grammar_limits& limits,
                                step_budget& steps) {
  auto symbol = json_schema::json_schema_symbol(builder, dump_exactly(schema), options, limits, steps);
  if (symbol) return symbol;
  auto& [code, message, param, retry] = symbol.error();
  const bool names_a_limit = !param.empty() && !param.starts_with('/');
  // The message says where in the schema, which is somewhere in the document.
  constexpr std::string_view before_place = "JSON Schema, at \"";
  if (message.starts_with(before_place))
    message.insert(before_place.size(), at);
  else if (names_a_limit)
    message.insert(0, fmt::format("{}{}\": ", before_place, at));
  if (!names_a_limit) param.insert(0, at);
  return symbol;
}

}  // namespace troupe::grammar
