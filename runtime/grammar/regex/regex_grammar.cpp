#include "runtime/grammar/regex/regex_grammar.hpp"

namespace troupe::grammar {

result<grammar_builder> regex_grammar(std::string_view pattern, const grammar_limits& limits) {
  grammar_builder builder(limits);
  const auto r = parse_regex(builder.regex(), pattern, {}, limits);
  if (!r) return tl::unexpected(r.error());
  builder.set_start(builder.lexeme(*r));
  if (builder.failure()) return tl::unexpected(*builder.failure());
  return builder;
}

}  // namespace troupe::grammar
