#include "main/schema_checker.hpp"

#include <array>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::cli {
namespace {

// Every byte is a token of its own; the last token ends the text.
const grammar::token_trie_ptr& bytes() {
  static const grammar::token_trie_ptr trie = [] {
    static std::array<char, 256> pieces{};
    std::vector<grammar::vocabulary_token> tokens;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i] = static_cast<char>(i);
      tokens.push_back({{&pieces[i], 1}, true, false});
    }
    tokens.push_back({{}, false, true});
    return grammar::make_token_trie(tokens);
  }();
  return trie;
}

}  // namespace

result<schema_checker> schema_checker::make(std::string_view schema,
                                            const json_schema::schema_options& options) {
  auto builder = json_schema::read_json_schema(schema, options);
  if (!builder) return tl::unexpected(builder.error());
  auto compiled = grammar::compile(std::move(*builder), bytes());
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
