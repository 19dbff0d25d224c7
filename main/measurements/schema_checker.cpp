#include "main/measurements/schema_checker.hpp"

#include <string>

#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::cli {

result<schema_checker> schema_checker::make(std::string_view schema,
                                            const json_schema::schema_options& options) {
  auto compiled =
      grammar::compile(grammar::schema_spec(std::string(schema), options), grammar::byte_token_trie(), {});
  if (!compiled) return tl::unexpected(compiled.error());
  return schema_checker(*compiled);
}

result<schema_checker::verdict> schema_checker::check(std::string_view text) const {
  grammar::matcher matcher(grammar_);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto accepted = matcher.accept(static_cast<unsigned char>(text[i]));
    if (!accepted && accepted.error().code == error_code::too_large) return tl::unexpected(accepted.error());
    if (!accepted) return verdict{false, i};
  }
  const auto ends = matcher.can_end();
  if (!ends) return tl::unexpected(ends.error());
  return verdict{*ends, text.size()};
}

}  // namespace troupe::cli
