#include "runtime/grammar/notations/embedded_schema.hpp"

#include <string_view>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/json/exact_number.hpp"

namespace troupe::grammar {

result<symbol_id> schema_symbol(grammar_builder& builder, const json& schema, const std::string& at,
                                const json_schema::schema_options& options, const grammar_limits& limits) {
  auto symbol = json_schema::json_schema_symbol(builder, dump_exactly(schema), options, limits);
  if (symbol) return symbol;
  auto& [code, message, param, retry] = symbol.error();
  const bool names_a_limit = !param.empty() && !param.starts_with('/');
  // The message says where in the schema, which is somewhere in the document.
  constexpr std::string_view before_place = "JSON Schema, at \"";
  if (message.starts_with(before_place)) message.insert(before_place.size(), at);
  param = names_a_limit ? at : at + param;
  return symbol;
}

}  // namespace troupe::grammar
